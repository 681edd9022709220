import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { api, unwrap, type Task } from "../lib/api";
import { useOpen, useRefresh, type TaskChanges } from "./changes";
import type { GroupID, HomeSearch } from "./search";

const filters = (search: HomeSearch) => ({ ...(search.project && { project_id: [search.project] }), ...(search.q && { q: search.q }) });

/** A change is shown at once, and the next ones after this many milliseconds. */
const every = 1000;

/** Tasks of some groups in the order of the server, page by page. They are read again when they change; long lists less often. */
export function useTasks(search: HomeSearch, groups: readonly { id: GroupID }[], changes: TaskChanges, limit = 100) {
  const mine = groups.map((g) => g.id).filter((id) => search.group === undefined || id === search.group);
  const { enabled, staleTime } = useOpen(changes);
  const query = useInfiniteQuery({
    queryKey: ["tasks", mine, search.project, search.q, limit],
    enabled: enabled && mine.length > 0,
    staleTime,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => unwrap(api.GET("/api/v1/tasks", {
      params: { query: { group: mine, order: "group", limit, cursor: pageParam, ...filters(search) } },
    })),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  });
  const used = mine.length > 0;
  const items = useMemo(() => {
    const seen = new Set<string>(); // a task that changes between two pages may be on both
    return (used ? query.data?.pages.flatMap((p) => p.items) ?? [] : []).filter((t) => !seen.has(t.id) && seen.add(t.id));
  }, [query.data, used]);
  const concerns = (task?: Task): boolean => used && (task === undefined || query.isFetching || mine.some((g) => g === task.group) || items.some((t) => t.id === task.id));
  useRefresh(changes, concerns, query, every * Math.max(1, query.data?.pages.length ?? 1));
  return { ...query, items, used };
}

/** The numbers of tasks by group, from the server. */
export function useCounts(search: HomeSearch, changes: TaskChanges) {
  const query = useQuery({
    ...useOpen(changes),
    queryKey: ["counts", search.project, search.q],
    queryFn: () => unwrap(api.GET("/api/v1/tasks/counts", { params: { query: filters(search) } })),
    placeholderData: keepPreviousData,
  });
  useRefresh(changes, () => true, query, every);
  return query.data;
}
