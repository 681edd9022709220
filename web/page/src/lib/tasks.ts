import { useQuery } from "@tanstack/react-query";

import { api, unwrap, type Task } from "./api";

/** Tasks by their IDs; undefined until they are read. Tasks that do not exist any more are left out. */
export function useTasksById(ids: string[]): { tasks: Task[] | undefined; error: Error | null } {
  const { data, error } = useQuery({
    queryKey: ["tasks", "by-id", ids], enabled: ids.length > 0, queryFn: () => unwrap(api.GET("/api/v1/tasks", { params: { query: { id: ids, limit: ids.length } } })),
  });
  return { tasks: ids.length === 0 ? [] : data?.items, error };
}
