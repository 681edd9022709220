import { Kind, type AttemptLog } from "../stream/store";

/** Kinds of rows by which a reader can choose, with their words. */
export const classes = { message: "Messages", thinking: "Thinking", tool: "Tool calls", edit: "Edits", person: "Users", error: "Errors", state: "Steps" } as const;
export type Class = keyof typeof classes;

/** Which rows a reader wants to see. */
export interface View {
  /** Heartbeats and other events without a row, too. */
  every: boolean;
  only?: Class;
  tool?: string;
  /** The open rows: a call of a subagent shows its events; -n stands for the run that begins with n. */
  open: ReadonlySet<number>;
  /** A row that is shown, also inside of a fold; 0: none. */
  keep: number;
  /** The newest row. */
  until: number;
}

export interface Layout {
  /** By number - 1: 1 for a row that is shown. */
  shown: Uint8Array;
  /** The first row of each run of reads and searches, with the number of its calls. */
  runs: Map<number, number>;
  /** The number of events of subagents, by the row of their call. */
  inside: Map<number, number>;
  /** Silences of over a minute in milliseconds, by the row that ends them. */
  silences: Map<number, number>;
}

const silence = 60_000;
/** Shorter runs are not folded. */
const shortest = 5;

const reads = /^(read|grep|glob|ls|notebookread|webfetch|websearch|view|search|list|find)(_\w+)?$/i;
const edits = /^(edit|multiedit|write|notebookedit|apply_patch|str_replace\w*)$/i;
const tools = /^agent\.(tool_|subagent_|skill_|user_tool_)/;

export function classOf(log: AttemptLog, n: number): Class {
  const type = log.typeAt(n);
  if (log.failures.has(n) || /error|failed$/.test(type)) {
    return "error";
  }
  if (tools.test(type)) {
    return edits.test(log.toolAt(n)) ? "edit" : "tool";
  }
  if (type === "agent.message" || type === "agent.user_message") {
    return "message";
  }
  return type === "agent.thinking" ? "thinking" : type === "agent.file_edited" ? "edit" : log.exchanges.has(n) ? "person" : "state";
}

/** Decides which rows of an attempt are shown. Rows of which nothing is known are shown, unless the reader chooses. */
export function layout(log: AttemptLog, view: View): Layout {
  const out: Layout = { shown: new Uint8Array(view.until), runs: new Map(), inside: new Map(), silences: new Map() };
  const chosen = view.only !== undefined || view.tool !== undefined;
  const reading = isReading(log, view);
  let last = 0, run = 0, length = 0, quiet = 0;
  for (let n = 1; n <= view.until; n++) {
    const kind = log.kindAt(n), at = log.timeAt(n);
    if (kind !== Kind.Heartbeat && at > 0) {
      quiet = last > 0 && at - last > silence ? at - last : quiet;
      last = at;
    }
    if (!view.every && kind >= Kind.Heartbeat || chosen && (kind === Kind.Unknown || !wanted(log, n, view))) {
      quiet = kind === Kind.CallEnd ? 0 : quiet; // the call shows how long it took
      continue;
    }
    if (!chosen && n !== view.keep && folded(log, n, view, out)) {
      quiet = 0;
      continue;
    }
    out.shown[n - 1] = 1;
    if (quiet > 0 && !chosen) {
      out.silences.set(n, quiet);
      length = 0;
    }
    quiet = 0;
    length = !chosen && !view.every && reading(n) ? length + 1 : 0;
    run = length === 1 ? n : run;
    if (length >= shortest) {
      out.runs.set(run, length);
      if (!view.open.has(-run)) {
        out.shown.fill(0, length === shortest ? run : n - 1, n);
      }
    }
  }
  return out;
}

/** Says of a row whether it is a call that only reads, and that did not fail. All rows are asked at each draw: a name is matched once. */
function isReading(log: AttemptLog, view: View): (n: number) => boolean {
  const only = new Set(log.toolNames().filter((name) => reads.test(name)));
  return (n) => log.typeAt(n) === "agent.tool_use" && n !== view.keep && only.has(log.toolAt(n)) && !log.failures.has(n);
}

/** Whether a row is of a subagent whose call is closed. Counts the row for its call. */
function folded(log: AttemptLog, n: number, view: View, out: Layout): boolean {
  let closed = false;
  for (let parent = log.parentAt(n), depth = 0; parent > 0 && depth < 8; parent = log.parentAt(parent), depth++) {
    out.inside.set(parent, (out.inside.get(parent) ?? 0) + 1);
    closed ||= !view.open.has(parent);
  }
  return closed;
}

function wanted(log: AttemptLog, n: number, { only, tool }: View): boolean {
  return (only === undefined || classOf(log, n) === only) && (tool === undefined || log.toolAt(n) === tool);
}
