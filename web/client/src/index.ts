import type { EventSourceMessage } from "eventsource-parser";
import { EventSourceParserStream } from "eventsource-parser/stream";
import createClient, { type Client } from "openapi-fetch";

import type { components, paths } from "./schema.js";

export type { components, operations, paths } from "./schema.js";

/** Schemas of the API, by name, for example `Schemas["Task"]`. */
export type Schemas = components["schemas"];

/** Client of all routes: `client.GET("/api/v1/tasks/{id}", { params: { path: { id } } })`. */
export type OmoiClient = Client<paths>;

/** How to reach a server. */
export interface Options {
  /** URL of the server, without a path, for example `http://127.0.0.1:8000`. */
  baseUrl: string;
  /** API key, JWT or sandbox token. Not needed while authentication is disabled. */
  token?: string;
  /** Replaces the global `fetch`. */
  fetch?: typeof globalThis.fetch;
}

/** Error answer of the API. Programs decide by `problem.code`; docs/ERRORS.md lists the codes. */
export class OmoiError extends Error {
  constructor(readonly problem: Schemas["Problem"]) {
    super(problem.detail);
    this.name = "OmoiError";
  }
}

/** Returns a typed client of the API. Its calls return `{ data, error, response }`; see {@link unwrap}. */
export function createOmoiClient(options: Options): OmoiClient {
  return createClient<paths>({ baseUrl: options.baseUrl, headers: authorization(options), fetch: options.fetch });
}

/** Returns the body of a successful answer, and throws an {@link OmoiError} for any other. */
export async function unwrap<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await call;
  if (!response.ok) {
    throw new OmoiError(problemOf(error, response));
  }
  return data as T;
}

/** Yields the items of all pages of a list. `page` gets the cursor of the page to fetch. */
export async function* items<T>(
  page: (cursor: string | undefined) => Promise<{ items: T[]; next_cursor?: string | null }>,
): AsyncGenerator<T> {
  let cursor: string | undefined;
  do {
    const { items, next_cursor } = await page(cursor);
    yield* items;
    cursor = next_cursor || undefined;
  } while (cursor !== undefined);
}

/** An event of a task's stream, with the cursor behind it. */
export interface StreamedEvent {
  cursor: string;
  event: Schemas["Event"];
}

/**
 * Yields the events of a task: the stored ones after the cursor, then each one as it arrives. Ends when the task has
 * ended. After a lost connection it connects until the server answers, and continues behind the last event; `signal`
 * ends it.
 */
export async function* taskEvents(
  options: Options, taskId: string, after = "", signal?: AbortSignal,
): AsyncGenerator<StreamedEvent> {
  for await (const frame of frames(options, () => [`/api/v1/tasks/${encodeURIComponent(taskId)}/stream`, { after }], signal)) {
    if (frame.event === "end") {
      return;
    }
    if (frame.event === "reset") {
      after = "";
    } else if (frame.id !== undefined) {
      after = frame.id;
      yield { cursor: after, event: JSON.parse(frame.data) as Schemas["Event"] };
    }
  }
}

/**
 * Yields the tasks that change, as lists show them, of all projects or of one. `undefined` means that any task may have
 * changed: it comes first, and after each lost connection. Read the list then. Never ends; `signal` ends it.
 */
export async function* taskChanges(
  options: Options, projectId?: string, signal?: AbortSignal,
): AsyncGenerator<Schemas["ChangedTask"] | undefined> {
  const query: Record<string, string> = projectId === undefined ? {} : { project_id: projectId };
  for await (const frame of frames(options, () => ["/api/v1/tasks/stream", query], signal)) {
    if (frame.event === "hello" || frame.event === "reset") {
      yield undefined;
    } else if (frame.event === "task") {
      yield JSON.parse(frame.data) as Schemas["ChangedTask"];
    }
  }
}

/** Path and query of a stream, as they are when it is opened. */
type Address = () => [path: string, query: Record<string, string>];

/** Yields the frames of a stream. After a lost connection it connects until the server answers. */
async function* frames(options: Options, address: Address, signal?: AbortSignal): AsyncGenerator<EventSourceMessage> {
  let reader = (await openStream(options, address, signal)).getReader();
  for (;;) {
    try {
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        yield next.value;
      }
    } catch (error) {
      if (signal?.aborted) {
        throw error;
      }
    } finally {
      await reader.cancel().catch(() => undefined);
    }
    reader = await reopened(options, address, signal);
  }
}

/** Connects again, until the server answers with anything but 502, 503 or 504. */
async function reopened(options: Options, address: Address, signal?: AbortSignal) {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, reconnectAfter));
    try {
      return (await openStream(options, address, signal)).getReader();
    } catch (error) {
      const down = !(error instanceof OmoiError) || error.problem.status >= 502;
      if (signal?.aborted || !down) {
        throw error;
      }
    }
  }
}

/** Milliseconds from a lost connection to the next. */
const reconnectAfter = 1000;

async function openStream(options: Options, address: Address, signal?: AbortSignal) {
  const [path, query] = address(), url = new URL(path, options.baseUrl);
  Object.entries(query).forEach(([name, value]) => url.searchParams.set(name, value));
  const response = await (options.fetch ?? globalThis.fetch)(url, { headers: authorization(options), signal });
  if (!response.ok || response.body === null) {
    throw new OmoiError(problemOf(await response.json().catch(() => undefined), response));
  }
  return response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
}

function authorization(options: Options): Record<string, string> {
  return options.token === undefined ? {} : { Authorization: `Bearer ${options.token}` };
}

function problemOf(body: unknown, response: Response): Schemas["Problem"] {
  if (typeof body === "object" && body !== null && "code" in body) {
    return body as Schemas["Problem"];
  }
  const detail = `The server answered ${response.status} ${response.statusText}.`;
  return { code: "internal", status: response.status, title: response.statusText, detail } as Schemas["Problem"];
}
