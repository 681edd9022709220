import { createOmoiClient, OmoiError, unwrap, type Schemas } from "@omoi/client";

import { heardTime } from "./clock";
import { refused } from "./session";
import { heardVersion } from "./version";

export type Task = Schemas["Task"];
/** An event as streams and ranges give it: texts over 2 KiB are cut, and named in truncated. */
export type Event = Schemas["ShortEvent"];
export type Command = Schemas["Command"];
export type Message = Schemas["Message"];
export type Sandbox = Schemas["Sandbox"];
export type Problem = Schemas["Problem"];
export type Project = Schemas["Project"];
export type Question = Schemas["Question"];
export type ComparedTask = Schemas["ComparedTask"];
export { OmoiError, unwrap };

async function timed(request: Request): Promise<Response> {
  const response = await fetch(request);
  heardTime(response);
  if (response.status === 401) {
    refused();
  }
  return response;
}

/** The API of the server that served this page. */
export const api = createOmoiClient({ baseUrl: location.origin, fetch: timed as typeof fetch });

const path = (id: string) => ({ params: { path: { id } } });

export const getTask = (id: string) => unwrap(api.GET("/api/v1/tasks/{id}", path(id)));
export const getWhy = (id: string) => unwrap(api.GET("/api/v1/tasks/{id}/why", path(id)));
export const getBudget = (id: string) => unwrap(api.GET("/api/v1/tasks/{id}/budget", path(id)));
export const getComparison = (ticket: string) => unwrap(api.GET("/api/v1/tickets/{id}/comparison", path(ticket)));
export const getContract = (id: string) => unwrap(api.GET("/api/v1/tasks/{id}/contract", path(id)));
/** Replaces the contract, unless another version than the one that was read is the newest. */
export const setContract = (id: string, contract: string, version: number) => unwrap(api.PUT("/api/v1/tasks/{id}/contract", { ...path(id), body: { contract, version } }));
export const getReceipt = (id: string) => unwrap(api.GET("/api/v1/tasks/{id}/receipt", path(id)));
export const getSavedWork = (id: string) => unwrap(api.GET("/api/v1/tasks/{id}/saved-work", path(id)));
export const getProject = (id: string) => unwrap(api.GET("/api/v1/projects/{id}", path(id)));
export const getProjectBudget = (id: string) => unwrap(api.GET("/api/v1/projects/{id}/budget", path(id)));
export const getProjects = () => unwrap(api.GET("/api/v1/projects", { params: { query: { limit: 500 } } }));
export const getCommand = (id: string) => unwrap(api.GET("/api/v1/commands/{id}", path(id)));
export async function getInfo() {
  const info = await unwrap(api.GET("/api/v1/info"));
  heardVersion(info.version);
  return info;
}
/** What the server needs, and whether it works: also an answer with status 503 says so. A proxy in front of it may answer anything. */
export async function getReadiness(): Promise<Schemas["Readiness"]> {
  const { data, error, response } = await api.GET("/readyz");
  const answer = (data ?? error) as Schemas["Readiness"] | undefined;
  return Array.isArray(answer?.dependencies) ? answer : unwrap<never>(Promise.resolve({ error, response }));
}
export const getRange = (sandbox: string, from: number, to: number) =>
  unwrap(api.GET("/api/v1/sandboxes/{sandbox_id}/event-range", { params: { path: { sandbox_id: sandbox }, query: { from, to } } }));
export const getEvent = (event: Event) =>
  unwrap(api.GET("/api/v1/sandboxes/{sandbox_id}/events/{event_id}", { params: { path: { sandbox_id: event.sandbox_id, event_id: event.id } } }));
export const getOutline = (sandbox: string, after: number) =>
  unwrap(api.GET("/api/v1/sandboxes/{sandbox_id}/outline", { params: { path: { sandbox_id: sandbox }, query: { after } } }));
export const findEvents = (sandbox: string, text: string, after: number, types?: string[]) =>
  unwrap(api.GET("/api/v1/sandboxes/{sandbox_id}/event-search", { params: { path: { sandbox_id: sandbox }, query: { q: text, event_type: types, after, limit: 200 } } }));
export const getPart = (event: Event, part: string, from: number, bytes: number) =>
  unwrap(api.GET("/api/v1/sandboxes/{sandbox_id}/events/{event_id}/part", {
    params: { path: { sandbox_id: event.sandbox_id, event_id: event.id }, query: { part, offset_bytes: from, limit_bytes: bytes } },
  }));
export const getCheckpoints = (id: string) =>
  unwrap(api.GET("/api/v1/tasks/{id}/checkpoints", { params: { path: { id }, query: { limit: 100 } } }));
/** The questions of the agents of a task, newest first. */
export const getQuestions = (task: string) => unwrap(api.GET("/api/v1/questions", { params: { query: { task_id: [task] } } }));
/** Answers a question. A question that is not open refuses it with its first answer. */
export const answerQuestion = (id: string, answer: string) => unwrap(api.POST("/api/v1/questions/{id}/answer", { ...path(id), body: { answer } }));
export const getMessage = (id: string, wait: string) =>
  unwrap(api.GET("/api/v1/messages/{message_id}", { params: { path: { message_id: id }, query: { wait } } }));

/** What failed, in the words of the server. */
export function said(error: unknown): string {
  if (error instanceof OmoiError) {
    return error.problem.detail ?? error.message;
  }
  return error instanceof TypeError ? "The server does not answer." : String(error);
}

/** Whether a request did not reach the server: it has no answer, or that of a proxy, which names no code. */
export const unreached = (error: unknown): boolean => !(error instanceof OmoiError) || error.problem.status > 500 && error.problem.code === "internal";

export const codeOf = (error: unknown): string => (error instanceof OmoiError ? error.problem.code : "");
