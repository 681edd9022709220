import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";

import { api, getReadiness, unwrap, type Sandbox } from "../lib/api";
import { now } from "../lib/clock";
import { useMay } from "../lib/session";
import type { FleetSearch } from "./search";

const page = { params: { query: { limit: 100 } } };

/** Slots, queue and sandboxes, as the server counts them. */
export const useCapacity = () =>
  useQuery({ queryKey: ["capacity"], queryFn: () => unwrap(api.GET("/api/v1/capacity")), refetchInterval: 3000 });

/** How guardian and conductor run, with the time of the answer: its ages count from then. */
export const useMonitor = () =>
  useQuery({
    queryKey: ["monitor"], refetchInterval: 5000,
    queryFn: async () => ({ status: await unwrap(api.GET("/api/v1/monitor/intelligent/status")), at: now() }),
  });

export const useJudged = () =>
  useQuery({ queryKey: ["monitor", "health"], queryFn: () => unwrap(api.GET("/api/v1/monitor/intelligent/health")), refetchInterval: 5000 });

export type ScheduleName = "guardian" | "conductor" | "reaper" | "retention";

export const useSchedule = (name: ScheduleName) =>
  useQuery({ queryKey: ["schedule", name], queryFn: () => unwrap(api.GET("/api/v1/schedules/{name}", { params: { path: { name } } })), refetchInterval: 5000 });

/** What the server needs, with the state of each. */
export const useReadiness = () => useQuery({ queryKey: ["ready"], queryFn: getReadiness, refetchInterval: 5000, retry: false });

export const useHosts = () => {
  const may = useMay("admin");
  return useQuery({ queryKey: ["hosts"], enabled: may, queryFn: () => unwrap(api.GET("/api/v1/hosts", page)), refetchInterval: 5000 });
};

export const useStorage = () => {
  const may = useMay("admin");
  return useQuery({ queryKey: ["storage"], enabled: may, queryFn: () => unwrap(api.GET("/api/v1/storage")), refetchInterval: 60_000 });
};

export const useUsage = (days: number, project?: string) =>
  useQuery({
    queryKey: ["usage", days, project], refetchInterval: 30_000, placeholderData: keepPreviousData,
    queryFn: () => unwrap(api.GET("/api/v1/usage", { params: { query: { days, ...(project && { project_id: [project] }) } } })),
  });

/** The tasks that wait, in the order of admission. */
export const useWaiting = () =>
  usePages(["tasks", "fleet"], 3000, (cursor) => unwrap(api.GET("/api/v1/tasks", { params: { query: { group: ["waiting"], order: "group", limit: 100, cursor } } })));

const kept: Sandbox["state"][] = ["intended", "creating", "running", "deleting", "gone"];
const filters = {
  unverified: { unverified: true, ended: "true" as const, state: kept }, // as /api/v1/capacity counts
  running: { ended: "false" as const, state: kept },
  lost: { state: ["lost" as const] },
  all: {},
};

export const useSandboxes = (show: NonNullable<FleetSearch["show"]>) =>
  usePages(["sandboxes", show], 4000, (cursor) => unwrap(api.GET("/api/v1/sandboxes", { params: { query: { ...filters[show], limit: 100, cursor } } })));

/** What the guardian said of one task changes once a cycle, which is a minute by default. */
const pollOf = (task: string) => (task === "" ? 5000 : 30_000);

/** Analyses and interventions of all tasks, or of one. */
export const useVerdicts = (task = "") =>
  usePages(["analyses", task], pollOf(task), (cursor) => unwrap(api.GET("/api/v1/guardian/analyses", { params: { query: { limit: 50, cursor, ...(task && { task_id: [task] }) } } })));
export const useInterventions = (task = "") =>
  usePages(["interventions", task], pollOf(task), (cursor) => unwrap(api.GET("/api/v1/guardian/interventions", { params: { query: { limit: 50, cursor, ...(task && { task_id: [task] }) } } })));

/** How often the guardian was right, as users say. */
export const useRatings = () =>
  useQuery({ queryKey: ["ratings"], queryFn: () => unwrap(api.GET("/api/v1/guardian/ratings")), refetchInterval: 60_000 });
export const useDuplicates = () =>
  usePages(["duplicates"], 5000, (cursor) => unwrap(api.GET("/api/v1/conductor/duplicates", { params: { query: { limit: 50, cursor } } })));
export const useDiagnoses = () =>
  usePages(["diagnoses"], 5000, (cursor) => unwrap(api.GET("/api/v1/diagnoses", { params: { query: { limit: 50, cursor } } })));
export const useGuardianActions = () =>
  useQuery({ queryKey: ["actions"], queryFn: () => unwrap(api.GET("/api/v1/guardian/actions", page)), refetchInterval: 5000 });

/** A list, page by page. A longer one is asked for again less often. */
function usePages<T>(key: string[], every: number, read: (cursor: string | undefined) => Promise<{ items: T[]; next_cursor: string | null }>) {
  const query = useInfiniteQuery({
    queryKey: key, initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => read(pageParam),
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    refetchInterval: (q) => every * Math.max(1, q.state.data?.pages.length ?? 1),
  });
  return { ...query, data: query.data?.pages.flatMap((p) => p.items) };
}
