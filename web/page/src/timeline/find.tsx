import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState, type ReactNode } from "react";

import { findEvents, said } from "../lib/api";
import { grouped } from "../lib/format";
import { mayLoadNext } from "../lib/pages";
import { Text } from "../lib/text";
import type { AttemptLog } from "../stream/store";

const most = 1000;

/** The rows of the events that contain a text, as the server finds them, in order. */
export interface Hits { rows: number[]; more: boolean; error: unknown }

/** version changes when events arrive: the row of an event may become known after the search. */
export function useHits(log: AttemptLog, sandbox: string | undefined, text: string, version: number): Hits {
  const query = useInfiniteQuery({
    queryKey: ["find", sandbox, text], enabled: sandbox !== undefined && text !== "", staleTime: 10_000, initialPageParam: 0,
    queryFn: ({ pageParam }) => findEvents(sandbox!, text, pageParam), getNextPageParam: (page) => page.next_after ?? undefined,
  });
  const rows = useMemo(() => [...new Set(query.data?.pages.flatMap((p) => p.items.map((i) => log.rowOf(i.sequence))))], [query.data, log, version]);
  const { hasNextPage, isFetching, fetchNextPage } = query, next = mayLoadNext(query);
  useEffect(() => {
    if (next && rows.length < most) {
      void fetchNextPage();
    }
  }, [next, fetchNextPage, rows.length]);
  return { rows, more: text !== "" && (hasNextPage || isFetching), error: query.error };
}

interface Props { text: string; find: (text: string) => void; hits: Hits; at: number; step: (by: 1 | -1) => void }

/** Searches all events of an attempt. Enter goes to the next one. */
export function Find({ text, find, hits, at, step }: Props): ReactNode {
  const [typed, setTyped] = useState(text), place = hits.rows.indexOf(at) + 1;
  return (
    <form role="search" className="spread" onSubmit={(e) => {
      e.preventDefault();
      if (typed.trim() === text) {
        step(1);
      } else {
        find(typed.trim());
      }
    }}>
      <input type="search" className="find" data-find aria-label="Search the events" placeholder="Search events   f" maxLength={200} value={typed}
        title="Searches texts of all events of this attempt, up to 16 KiB each. n and N: next and previous one"
        onChange={(e) => { setTyped(e.target.value); if (e.target.value === "") { find(""); } }} />
      {typed.trim() !== text && <span className="muted small">Enter searches</span>}
      {text !== "" && typed.trim() === text && <span className="muted small" role="status">{hits.error !== null ? <Text of={said(hits.error)} /> : hits.rows.length === 0 ? (hits.more ? "searching…" : "no event contains it") : `${place === 0 ? "" : `${grouped(place)} / `}${grouped(hits.rows.length)}${hits.more ? "+" : ""}`}</span>}
    </form>
  );
}
