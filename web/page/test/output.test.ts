import { expect, test, vi } from "vitest";

vi.hoisted(() => vi.stubGlobal("location", { origin: "http://omoi.test" }));

import type { Event } from "../src/lib/api";
import { commandsOf, lineOf, placeOf, resultOf } from "../src/output/commands";
import { plainOf } from "../src/output/line";
import { SandboxLog } from "../src/output/log";
import { AttemptLog } from "../src/stream/store";

const event = (sequence: number, type: string, data: object, more: object = {}): Event =>
  ({ id: `s:${sequence}`, sandbox_id: "s", sequence, attempt: 1, event_type: type, event_data: data, created_at: new Date(1e12 + sequence * 1000).toISOString(), ...more }) as unknown as Event;

const call = (n: number, id: string, tool: string, input: object): Event => event(n, "agent.tool_use", { tool, input, tool_use_id: id });
const done = (n: number, id: string, response: unknown): Event => event(n, "agent.tool_completed", { tool: "Bash", tool_use_id: id, tool_response: response });
const told = (n: number, id: string, result: string, more: object = {}): Event => event(n, "agent.tool_result", { tool_use_id: id, result, ...more });

function logOf(...events: Event[]): AttemptLog {
  const log = new AttemptLog(1);
  events.forEach((e) => log.add(e, 100));
  return log;
}

test("the commands of an attempt, and what was known of them at an event", () => {
  const log = logOf(
    event(1, "agent.setup_started", { command: "npm ci" }), event(2, "agent.setup_completed", { success: true, output: "ok" }), call(3, "a", "Bash", { command: "make" }),
    call(4, "b", "Read", { file_path: "x" }), done(5, "a", {}), call(6, "c", "shell", { command: ["ls", "-l"] }), told(7, "a", "built"), done(8, "b", {}), event(9, "agent.file_edited", { tool_use_id: "a" }),
  );
  expect(commandsOf(log, 9)).toEqual([{ start: 1, ends: [2] }, { start: 3, ends: [5, 7] }, { start: 6, ends: [] }]);
  expect(commandsOf(log, 5)).toEqual([{ start: 1, ends: [2] }, { start: 3, ends: [5] }]);
  expect(commandsOf(log, 1)).toEqual([{ start: 1, ends: [] }]);
  expect([7, 6, 4, 9].map((n) => placeOf(commandsOf(log, 9), n))).toEqual([1, 2, -1, -1]);
  expect(lineOf(log.body(6)!)).toBe("ls -l");
  expect(lineOf(log.body(1)!)).toBe("npm ci");
});

test("the result of a command, as each runtime reports it", () => {
  const start = call(1, "a", "Bash", { command: "make" });
  expect(resultOf(start, [])).toBeUndefined();
  expect(resultOf(start, [done(3, "a", { output: "out\n", exit_code: 2, outcome: "exited", duration_ms: 40 }), told(4, "a", "out\n\n[exit code 2]", { is_error: true })]))
    .toEqual({ failed: true, exit: 2, outcome: "", took: 40, whole: undefined, printed: [{ label: "", text: "out\n" }] });
  expect(resultOf(start, [done(3, "a", { stdout: "out", stderr: "warn" }), told(4, "a", "out\nwarn")]))
    .toEqual({ failed: false, exit: undefined, outcome: "", took: 2000, whole: undefined, printed: [{ label: "", text: "out" }, { label: "Standard error", text: "warn" }] });
  expect(resultOf(start, [done(3, "a", "Error: Exit code 127\nno make"), told(4, "a", "Exit code 127\nno make", { is_error: true })]))
    .toMatchObject({ failed: true, exit: 127, printed: [{ text: "Error: Exit code 127\nno make" }] });
  expect(resultOf(start, [told(4, "a", "x".repeat(5000), { result_truncated: true, result_full_length: 3_000_000 })])).toMatchObject({ whole: 3_000_000, failed: false });
  expect(resultOf(start, [done(3, "a", { output: "x".repeat(8000), exit_code: 0 }), told(4, "a", "x".repeat(5000), { result_truncated: true, result_full_length: 8014 })])).toMatchObject({ whole: undefined });
  expect(resultOf(event(1, "agent.setup_started", {}), [event(2, "agent.setup_completed", { success: false, outcome: "timeout", exit_code: -1, output: "slow", duration_ms: 9 })]))
    .toEqual({ failed: true, exit: -1, outcome: "timeout", took: 9, whole: undefined, printed: [{ label: "", text: "slow" }] });
});

/** Follows a log that the server answers with these, and returns the log after a minute and the number of answers that were not asked for. */
async function followed(...answers: Response[]): Promise<{ log: SandboxLog; left: number }> {
  vi.useFakeTimers();
  vi.stubGlobal("document", { visibilityState: "visible" });
  vi.stubGlobal("fetch", () => Promise.resolve(answers.shift()!));
  const log = new SandboxLog("s");
  log.start();
  await vi.advanceTimersByTimeAsync(60_000);
  log.stop();
  vi.useRealTimers();
  return { log, left: answers.length };
}

const refusal = (status: number) => Response.json({ status, code: "x", detail: "No." }, { status, headers: { "Content-Type": "application/problem+json" } });
const piece = () => Response.json({ text: "built\n", first: 0, next: 6, end: 6, ended: true, stale: false });

test("the log of a sandbox continues after a login and after a limit, and ends with another refusal", async () => {
  const { log } = await followed(refusal(401), refusal(429), piece());
  expect([log.state, log.problem, plainOf(log.ansi.lines[0]!)]).toEqual(["ended", "", "built"]);
  const refused = await followed(refusal(403), piece());
  expect([refused.log.state, refused.log.problem, refused.left]).toEqual(["refused", "No.", 1]);
});
