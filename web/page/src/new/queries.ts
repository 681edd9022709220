import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { useCapacity } from "../fleet/queries";
import { api, getProjectBudget, getProjects, unwrap, type Project } from "../lib/api";
import { keep, recall } from "../lib/kept";
import type { TaskRequest } from "./form";

const lastProject = "omoi.project";

/** The projects, the last used one first, then the newest. */
export function useProjects(): Project[] | undefined {
  const all = useQuery({ queryKey: ["projects"], queryFn: getProjects, staleTime: 30_000 }).data?.items, last = recall("localStorage", lastProject);
  return all && [...all.filter((p) => p.id === last), ...all.filter((p) => p.id !== last)];
}

export const remember = (id: string): void => keep("localStorage", lastProject, id);

/** What the server would make of a request. */
export const usePreview = (request: TaskRequest) => useQuery({
  queryKey: ["preview", request], queryFn: () => unwrap(api.POST("/api/v1/tasks/preview", { body: request })), placeholderData: keepPreviousData, staleTime: 5000,
});

/** The isolation features of the newest sandbox of each provider. */
export function useIsolation(): Map<string, string[]> {
  const boxes = useQuery({ queryKey: ["isolation"], queryFn: () => unwrap(api.GET("/api/v1/sandboxes", { params: { query: { limit: 100 } } })), staleTime: 60_000 }).data?.items ?? [];
  return new Map(boxes.filter((b) => b.isolation.length > 0).reverse().map((b) => [b.provider, b.isolation])); // the newest is listed first, and stays last here
}

/** What is ahead of a new task in a project. */
export function useAhead(project: string) {
  const capacity = useCapacity().data, budget = useQuery({ queryKey: ["project-budget", project], enabled: project !== "", queryFn: () => getProjectBudget(project) }).data;
  return { capacity, slots: capacity?.projects.find((p) => p.id === project), budget };
}

/** Tasks of a project that have not ended, newest first. */
export const useOpenTasks = (project: string) => useQuery({
  queryKey: ["open-tasks", project], enabled: project !== "", staleTime: 10_000,
  queryFn: () => unwrap(api.GET("/api/v1/tasks", { params: { query: { project_id: [project], group: ["needs_you", "running", "checking", "waiting"], limit: 100 } } })),
}).data?.items ?? [];
