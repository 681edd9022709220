import { InfiniteQueryObserver, QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";

import { mayLoadNext } from "../src/lib/pages";

test("a page that was refused is not asked for again by itself, and the list that is read again goes on", async () => {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  let refuses = true;
  const list = new InfiniteQueryObserver(client, {
    queryKey: ["list"], initialPageParam: 0, getNextPageParam: (page: number) => page + 1,
    queryFn: ({ pageParam }) => (pageParam > 0 && refuses ? Promise.reject(new Error("refused")) : Promise.resolve(pageParam)),
  });
  const may = () => mayLoadNext(list.getCurrentResult()), leave = list.subscribe(() => undefined);
  await list.refetch();
  expect(may()).toBe(true);
  const next = list.fetchNextPage();
  expect(may(), "while it loads").toBe(false);
  await next;
  expect(list.getCurrentResult().data?.pages).toEqual([0]);
  expect(may(), "refused").toBe(false);
  refuses = false;
  await list.refetch();
  expect(may(), "read again").toBe(true);
  leave();
});
