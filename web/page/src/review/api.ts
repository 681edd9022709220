import { useInfiniteQuery, useQuery } from "@tanstack/react-query";

import { api, unwrap, type Event, type Task } from "../lib/api";

const running = 3000;

/** The changed files between two points. While an attempt runs, the newest point moves. */
export const useChanges = (task: Task, from: string, to: string) => useQuery({
  queryKey: ["changes", task.id, from, to],
  queryFn: () => unwrap(api.GET("/api/v1/tasks/{id}/changes", { params: { path: { id: task.id }, query: { from, to } } })),
  refetchInterval: to === "latest" && task.completed_at === null ? running : false,
});

export interface Shown { from: string; to: string; path: string; context: number; whitespace: "show" | "ignore" }

/** The diff of a file in parts: the server ends one after 2,000 lines or 512 KiB. */
export const useDiff = (task: Task, { path, ...query }: Shown) => useInfiniteQuery({
  queryKey: ["diff", task.id, path, query],
  queryFn: ({ pageParam: offset }) =>
    unwrap(api.GET("/api/v1/tasks/{id}/changes/diff", { params: { path: { id: task.id }, query: { path, ...query, offset } } })),
  initialPageParam: 0,
  getNextPageParam: (last) => last.next_offset ?? undefined,
  placeholderData: (was, query) => (query?.queryKey[2] === path ? was : undefined), // until more context of the same file is here
  staleTime: Infinity,
});

/** The checks of continuous mode in one sandbox, newest first. */
export const getChecks = async (sandbox: string): Promise<Event[]> => (await unwrap(api.GET("/api/v1/sandboxes/{sandbox_id}/events", {
  params: { path: { sandbox_id: sandbox }, query: { event_type: "iteration.validation", limit: 100 } },
}))).events as Event[];
