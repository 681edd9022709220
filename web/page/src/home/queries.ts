import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { api, unwrap, type Task } from "../lib/api";
import type { GroupID, HomeSearch } from "./search";

const filters = (search: HomeSearch) => ({ ...(search.project && { project_id: [search.project] }), ...(search.q && { q: search.q }) });

/** Tasks of some groups in the order of the server, page by page. Long lists are asked for again less often. */
export function useTasks(search: HomeSearch, groups: readonly { id: GroupID }[], every: number, limit = 100) {
  const mine = groups.map((g) => g.id).filter((id) => search.group === undefined || id === search.group);
  const query = useInfiniteQuery({
    queryKey: ["tasks", mine, search.project, search.q, limit],
    enabled: mine.length > 0,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => unwrap(api.GET("/api/v1/tasks", {
      params: { query: { group: mine, order: "group", limit, cursor: pageParam, ...filters(search) } },
    })),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: (q) => every * Math.max(1, q.state.data?.pages.length ?? 1),
    placeholderData: keepPreviousData,
  });
  const used = mine.length > 0;
  const items = useMemo(() => {
    const seen = new Set<string>(); // a task that changes between two pages may be on both
    return inQueue((used ? query.data?.pages.flatMap((p) => p.items) ?? [] : []).filter((t) => !seen.has(t.id) && seen.add(t.id)));
  }, [query.data, used]);
  return { ...query, items, used };
}

/** The numbers of tasks by group, from the server. */
export function useCounts(search: HomeSearch) {
  return useQuery({
    queryKey: ["counts", search.project, search.q],
    queryFn: () => unwrap(api.GET("/api/v1/tasks/counts", { params: { query: filters(search) } })),
    refetchInterval: 2000,
    placeholderData: keepPreviousData,
  }).data;
}

/** Puts waiting tasks of the same score in the order in which they start. */
function inQueue(tasks: Task[]): Task[] {
  const waiting = tasks.filter((t) => t.group === "waiting").sort((a, b) => b.score - a.score || (a.queue_position ?? 1e9) - (b.queue_position ?? 1e9));
  return tasks.map((t) => (t.group === "waiting" ? waiting.shift()! : t));
}
