import type { Event } from "../lib/api";
import type { AttemptLog } from "../stream/store";
import { Fields, timeOf, written } from "../timeline/fields";

/** A command of the agent, or the setup step: the event that starts the command, and those that tell its result. */
export interface Command { start: number; ends: number[] }

const shells = /^(bash|shell|sh|local_shell|terminal|exec\w*|execute\w*|run_\w*command\w*|run_terminal\w*)$/i;
const results = new Set(["agent.tool_completed", "agent.tool_result", "agent.user_tool_result"]);

/** The commands that had started with an event, and what was known of their results then. */
export function commandsOf(log: AttemptLog, until: number): Command[] {
  const commands = new Map<number, Command>();
  let setup = 0;
  for (let n = 1; n <= until; n++) {
    const type = log.typeAt(n), row = log.rowOf(n);
    if (type === "agent.tool_use" && shells.test(log.toolAt(n)) || type === "agent.setup_started") {
      commands.set(n, { start: n, ends: [] });
      setup = type === "agent.setup_started" ? n : setup;
    } else if (type === "agent.setup_completed") {
      commands.get(setup)?.ends.push(n);
    } else if (row !== n && results.has(type)) {
      commands.get(row)?.ends.push(n);
    }
  }
  return [...commands.values()];
}

/** The place of the command that an event starts or ends; -1: of none. */
export const placeOf = (commands: Command[], n: number): number => commands.findIndex((c) => c.start === n || c.ends.includes(n));

export interface Result {
  failed: boolean;
  exit: number | undefined;
  /** How the command ended, if not by itself. */
  outcome: string;
  took: number;
  printed: { label: string; text: string }[];
  /** Size of the whole output in bytes, if the agent reported less. */
  whole: number | undefined;
}

/** The command line. */
export function lineOf(start: Event): string {
  const fields = Fields.of(start), input = fields.object("input");
  return fields.text("command") || input.text("command") || input.list("command").join(" ") || written(fields.get("input"));
}

/** What the events of a command's end say. undefined: the command has not ended. */
export function resultOf(start: Event, ends: Event[]): Result | undefined {
  const all = ends.map(Fields.of), last = ends.find((e) => e.event_type.endsWith("_completed")) ?? ends.at(-1);
  if (last === undefined) {
    return undefined;
  }
  const own = Fields.of(last), response = own.object("tool_response"), result = first(all.map((f) => f.text("result")));
  const code = /^(?:Error: )?Exit code (\d+)/.exec(result), exit = own.number("exit_code") ?? response.number("exit_code") ?? (code === null ? undefined : Number(code[1]));
  const outcome = own.text("outcome") || response.text("outcome"), output = printed(own, response, result);
  const size = output.reduce((sum, p) => sum + new Blob([p.text]).size, 0);
  const whole = Math.max(...all.map((f) => (f.is("tool_response_truncated") ? f.number("tool_response_full_length") ?? 0 : f.is("result_truncated") ? f.number("result_full_length") ?? 0 : 0)));
  return {
    exit, outcome: outcome === "exited" ? "" : outcome, printed: output, whole: whole > size + 200 ? whole : undefined, // the text for the model may have a note at its end
    failed: all.some((f) => f.is("is_error")) || own.get("success") === false || exit !== undefined && exit !== 0,
    took: timeOf(ends) ?? Date.parse(last.created_at) - Date.parse(start.created_at),
  };
}

const first = (texts: string[]): string => texts.find((t) => t !== "") ?? "";

/** The output as the tool reported it, else as the model got it. */
function printed(own: Fields, response: Fields, result: string): Result["printed"] {
  const output = response.text("stdout", "output", "content", "text"), errors = response.text("stderr");
  const texts = output + errors !== "" ? [["", output], ["Standard error", errors]] : [["", first([own.text("tool_response", "output"), result])]];
  return texts.filter(([, text]) => text !== "").map(([label, text]) => ({ label: label!, text: text! }));
}
