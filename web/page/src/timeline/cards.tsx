import { createContext, useContext, type ReactNode } from "react";

import type { Event } from "../lib/api";
import { bytes, count, cutMiddle, duration, grouped, many, usd } from "../lib/format";
import { Prose } from "../lib/prose";
import { InSteps } from "../lib/steps";
import { Text } from "../lib/text";
import { Diff, Output } from "./details";
import { AskedHere } from "./asked-here";
import { about, Fields, inputText, output, senderOf, written } from "./fields";

/** Asks about an action that begins with a checkpoint. Undefined: the reader can do nothing here. */
export const AskFrom = createContext<((asking: { verb: "rewind" | "fork"; checkpoint: string }) => void) | undefined>(undefined);

/** How the attempt ended whose events are shown; empty: it runs. */
export const Outcome = createContext("");

/** What a row of the timeline shows. more is mounted only while the reader has it open. */
export interface Card {
  label: string;
  tone?: string;
  main: ReactNode;
  meta?: ReactNode;
  more?: () => ReactNode;
  /** Replaces main by the whole text, if main shows only its beginning. */
  all?: { label: string; draw: () => ReactNode };
}

const said = (text: string): ReactNode => <div className="prose"><Prose of={text.trim()} /></div>;
const plain = (text: string): ReactNode => <InSteps of={text} draw={(shown) => <Text of={shown} />} />;
const line = (text: string): ReactNode => plain(text.split("\n", 1)[0]!);
const mono = (text: string): ReactNode => <code><Text of={cutMiddle(text, 200)} /></code>;

const shutdowns: Record<string, string> = {
  complete: "It ended by itself.", error: "It failed.", interrupted: "It was interrupted.", sigterm: "omoi asked it to stop.", gone: "The server had closed its sandbox.",
};

type Maker = (f: Fields, event: Event, ends: Event[]) => Card;

function prose(label: string, tone?: string): Maker {
  return (f) => ({ label, tone, main: said(f.text("content")), meta: f.is("partial") ? "cut off" : undefined });
}

function state(label: string, main: (f: Fields) => string, tone?: string): Maker {
  return (f) => ({ label, tone, main: plain(main(f)) });
}

/** Says which credential an agent uses in place of a rate limited one. */
function takeover(f: Fields): string {
  const used = f.object("credential_takeover");
  return used.number("number") === undefined ? "" : `${used.text("kind")} credential ${used.number("number")}, since ${used.number("limited_number")} was rate limited`;
}

function failure(label: string): Maker {
  return (f, event) => {
    const more = f.text("output", "traceback"), none = event.omitted?.includes("error") ? "" : "No reason given.";
    return { label, tone: "fail", main: said(f.text("error", "reason") || none), more: more === "" ? undefined : () => <Output of={more} /> };
  };
}

const tool: Maker = (f, _, ends) => {
  const edits = ends.filter((e) => e.event_type === "agent.file_edited").map(Fields.of);
  const done = ends.filter((e) => e.event_type !== "agent.file_edited").map(Fields.of);
  const input = f.object("input"), stopped = done.some((e) => e.object("tool_response").text("outcome") === "stopped");
  const failed = !stopped && done.some((e) => e.is("is_error") || e.object("tool_response").is("is_error"));
  return {
    label: f.text("tool") || "tool",
    main: <span className={failed ? "failed" : undefined}>{failed && "failed: "}{stopped && <Stopped />}{mono(about(input))}</span>,
    meta: edits.length === 0 ? undefined : changed(edits),
    more: () => (edits.length > 0 && !failed ? edits.map((e, n) => <FileDiff key={n} of={e} />) : <ToolDetail input={f.get("input")} done={done} />),
  };
};

/** Says of a call that the agent did not end itself what ended it. */
function Stopped(): ReactNode {
  return <span className="muted">{useContext(Outcome) === "cancelled" ? "ended by the cancel: " : "stopped: "}</span>;
}

const refused: Maker = (f, event) => ({
  label: "Refused", tone: "fail", main: <>{mono(f.text("command", "file_path"))}<span className="muted"> · {line(f.text("reason"))}</span></>,
  more: f.is("can_be_allowed") ? () => <Allow command={`omoi allow ${f.text("task_id")} ${event.sequence}`} /> : undefined,
});

/** Names the command that allows a call once, while the attempt runs. */
function Allow({ command }: { command: string }): ReactNode {
  return useContext(Outcome) === "" ? <p className="muted small">To allow this call once: <code>{command}</code></p> : <p className="muted small">The attempt has ended: nothing can be allowed any more.</p>;
}

const toolEnd: Maker = (f) => ({
  label: f.text("tool") || "tool result",
  main: <>{mono(about(f.object("tool_input")) || f.text("result").split("\n", 1)[0]!)}<span className="muted small"> result only</span></>,
  more: () => <ToolDetail input={f.get("tool_input")} done={[f]} />,
});

function ToolDetail({ input, done }: { input: unknown; done: Fields[] }): ReactNode {
  const results = done.map((f) => f.text("result", "subagent_result") || output(f.get("tool_response")));
  const longest = results.reduce((a, b) => (b.length > a.length ? b : a), "");
  const cut = done.find((f) => f.is("tool_response_truncated") || f.is("result_truncated"));
  const size = cut?.number("tool_response_full_length") ?? cut?.number("result_full_length");
  return (
    <>
      <Output of={inputText(input)} label="Input" />
      {done.length === 0 ? <p className="muted small">No result yet.</p> : <Output of={longest === "" ? "(no output)" : longest} label="Result" />}
      {size !== undefined && <p className="muted small">Shortened: the whole result has {bytes(size)}.</p>}
    </>
  );
}

/** Added and removed lines. */
function changed(edits: Fields[]): string {
  const sum = (name: string): number => edits.reduce((n, e) => n + (e.number(name) ?? 0), 0);
  return `+${grouped(sum("lines_added"))} −${grouped(sum("lines_removed"))}`;
}

function FileDiff({ of }: { of: Fields }): ReactNode {
  const diff = of.text("full_diff", "diff_preview");
  return diff === "" ? <p className="muted small">No diff: {of.is("binary") ? "the file is binary" : "the file is too long"}.</p>
    : <Diff of={diff} whole={of.text("full_diff") !== "" || !of.is("full_diff_available")} />;
}

const edited: Maker = (f) => {
  const old = f.text("old_path");
  return {
    label: ({ created: "Create", deleted: "Delete", renamed: "Rename" })[f.text("change_type")] ?? "Edit",
    main: <>{old !== "" && <>{mono(old)} → </>}{mono(f.text("file_path"))}{f.is("binary") && <span className="muted"> binary</span>}</>,
    meta: f.is("binary") ? undefined : changed([f]),
    more: () => <FileDiff of={f} />,
  };
};

const injected: Maker = (f) => ({
  label: senderOf(f), tone: "person", main: said(f.text("content")),
  meta: f.text("message_type") === "interrupt" ? "interrupt" : undefined,
});

const waiting: Maker = (f, event) => {
  const asks = f.text("question") !== "" || event.omitted?.includes("question");
  return asks ? { label: f.text("question_kind") === "permission" ? "Permission" : "Question", tone: "person", main: <AskedHere event={event} text={f.text("question")} options={f.list("options")} /> }
    : { label: "Waiting", tone: "person", main: "The agent waits for a message." };
};

const iteration = (label: string, tone?: string): Maker => (f) => {
  const text = f.text("error", "feedback", "output_preview", "prompt_preview");
  return {
    label, tone, main: <>Iteration {f.number("iteration_num") ?? "?"}{text !== "" && <span className="muted"> · {line(text)}</span>}</>,
    meta: f.number("cost_usd") === undefined ? undefined : usd(f.number("cost_usd")),
    more: text.includes("\n") ? () => <Output of={text} /> : undefined,
  };
};

/** How an agent ended. A validator may have given its verdict before, which its last event does not repeat. */
function outcome(f: Fields): { label: string; tone?: string } {
  if (f.get("success") === false) {
    return { label: "Not done", tone: "fail" };
  }
  if (f.text("agent_type") !== "validator") {
    return { label: "Done", tone: "done" };
  }
  return f.is("validation_passed") ? { label: "Passed", tone: "done" } : f.text("validation_feedback") !== "" ? { label: "Rejected", tone: "fail" } : { label: "Done" };
}

const ended: Maker = (f) => {
  const text = f.text("final_output", "error", "validation_feedback");
  const facts = [
    f.number("turns") === undefined ? "" : many(f.number("turns") ?? 0, "turn"),
    f.number("files_changed") === undefined ? "" : many(f.number("files_changed") ?? 0, "changed file"),
    f.number("input_tokens") === undefined ? "" : `${count((f.number("input_tokens") ?? 0) + (f.number("output_tokens") ?? 0))} tokens`,
    f.number("cost_usd") === undefined ? "" : usd(f.number("cost_usd"), f.is("cost_unknown")),
  ].filter((t) => t !== "");
  return {
    ...outcome(f),
    main: <>{text === "" ? "The agent ended its work." : said(text)}<div className="muted small">{facts.join(" · ")}</div></>,
  };
};

const checkpoint: Maker = (f, event) => ({
  label: "Checkpoint",
  main: <span className="muted">{event.attempt}.{f.number("checkpoint") ?? "?"} · {many(f.number("files") ?? 0, "changed file")}{f.is("torn") && ", files changed meanwhile"}</span>,
  more: () => <><FromHere checkpoint={`${event.attempt}.${f.number("checkpoint") ?? "?"}`} /><Output of={f.list("left_out").join("\n")} label="Left out" /></>,
});

/** What can begin with a checkpoint. */
function FromHere({ checkpoint }: { checkpoint: string }): ReactNode {
  const ask = useContext(AskFrom);
  return ask === undefined ? <p className="muted small">Files and session as they were here.</p> : (
    <p className="spread">
      <button onClick={() => ask({ verb: "rewind", checkpoint })}>Rewind to here…</button>
      <button onClick={() => ask({ verb: "fork", checkpoint })}>Fork from here…</button>
    </p>
  );
}

const setupEnded: Maker = (f) => ({
  label: "Setup", tone: f.is("success") ? undefined : "fail",
  main: f.is("success") ? "The setup step ended." : <>The setup step failed: <Text of={f.text("outcome")} />{f.number("exit_code") === undefined ? "" : `, exit code ${f.number("exit_code")}`}</>,
  meta: f.number("duration_ms") === undefined ? undefined : duration(f.number("duration_ms")!),
  more: f.text("output") === "" ? undefined : () => <Output of={f.text("output")} />,
});

const makers: Record<string, Maker> = {
  "agent.message": prose("Agent", "agent"),
  "agent.user_message": prose("Prompt"),
  "agent.thinking": (f) => ({ label: "Thinking", main: <span className="muted">{line(f.text("content"))}</span>, more: () => <div className="prose muted">{plain(f.text("content"))}</div> }),
  "agent.system_message": (f) => ({ label: "Runtime", main: <span className="muted"><Text of={`${f.text("line_type")} ${f.text("subtype")}`} /></span>, more: () => <Output of={written(f.get("metadata"))} /> }),
  "agent.tool_use": tool,
  "agent.skill_invoked": tool,
  "agent.subagent_invoked": (f, event, ends) => ({ ...tool(f, event, ends), label: "Subagent", main: <Text of={`${f.text("subagent_type")}: ${f.text("subagent_description")}`} /> }),
  "agent.tool_refused": refused,
  "agent.tool_allowed": (f) => ({ label: "Allowed once", tone: "person", main: mono(f.text("command", "file_path")) }),
  "agent.tool_unchecked": failure("Not checked"),
  "agent.tool_completed": toolEnd,
  "agent.tool_result": toolEnd,
  "agent.user_tool_result": toolEnd,
  "agent.subagent_completed": toolEnd,
  "agent.skill_completed": toolEnd,
  "agent.file_edited": edited,
  "agent.files_unreported": state("Files", (f) => `${many(f.number("count") ?? 0, "more file")} changed without an event.`),
  "agent.committed": state("Commit", (f) => `${f.text("commit").slice(0, 10)}: omoi committed ${many(f.number("files") ?? 0, "file")} that the agent left uncommitted.`),
  "agent.started": state("Started", (f) => [f.text("runtime"), f.text("model") === f.text("runtime") ? "" : f.text("model"), f.is("is_resuming") ? "continues an earlier session" : "", takeover(f)].filter((t) => t !== "").join(" · ") || "The agent started."),
  "agent.completed": ended,
  "continuous.completed": ended,
  "agent.error": failure("Error"),
  "agent.failed": failure("Error"),
  "agent.stream_error": failure("Model connection"),
  "agent.waiting": waiting,
  "agent.message_injected": injected,
  "agent.message_dropped": state("Message", (f) => `Not used: ${f.text("reason")}`, "fail"),
  "agent.interrupted": state("Interrupted", (f) => f.text("reason") || "The agent stopped for an interrupt.", "person"),
  "agent.shutdown": state("Agent ended", (f) => shutdowns[f.text("reason")] ?? f.text("reason")),
  "agent.setup_started": (f) => ({ label: "Setup", main: mono(f.text("command")) }),
  "agent.setup_completed": setupEnded,
  "agent.resume_failed": failure("No session"),
  "agent.checkpoint": checkpoint,
  "agent.checkpoint_failed": failure("No checkpoint"),
  "agent.restored": state("Restored", (f) => `Files of checkpoint ${f.text("checkpoint")}: ${many(f.number("files") ?? 0, "changed file")}.`),
  "agent.restore_failed": failure("Not restored"),
  "agent.events_dropped": state("Events lost", (f) => `${many(f.number("count") ?? 0, "event")} missing: ${f.text("reason")}`, "fail"),
  "agent.spool_degraded": failure("Spool"),
  "agent.heartbeat": state("Heartbeat", (f) => [f.text("status"), f.text("current_tool")].filter((t) => t !== "").join(" · ")),
  "agent.assistant_message": state("Usage", (f) => `${f.text("model")} · ${count(f.object("usage").number("output_tokens") ?? 0)} output tokens`),
  "continuous.started": (f) => ({ label: "Continuous", main: line(f.text("goal") || "Repeats its work until the checks pass.") }),
  "iteration.started": iteration("Iteration"),
  "iteration.completion_signal": (f) => ({ label: "Signal", main: `The agent says that it is done (${f.number("signal_count") ?? "?"} of ${f.number("threshold") ?? "?"}).` }),
  "iteration.validation": (f, e, d) => ({ ...iteration(f.is("passed") ? "Checks passed" : "Checks failed", f.is("passed") ? "done" : "fail")(f, e, d) }),
  "iteration.completed": iteration("Iteration end"),
  "iteration.failed": iteration("Iteration failed", "fail"),
};

/** Types of events with a card of their own. */
export const knownTypes = (): string[] => Object.keys(makers);

/** Whether the stream left out all fields of an event. */
const bare = (event: Event): boolean => event.omitted?.includes("*") ?? false;

/** The card of an event. An event of unknown type or without fields is shown as it is. */
export function cardOf(event: Event, ends: Event[]): Card {
  const make = Object.hasOwn(makers, event.event_type) ? makers[event.event_type] : undefined;
  return make === undefined || bare(event) ? neutral(event) : make(Fields.of(event), event, ends);
}

/** Shows an event without knowing its fields. */
export function neutral(event: Event): Card {
  return {
    label: "Event",
    main: <>{mono(event.event_type)} {!bare(event) && <span className="muted"><Text of={cutMiddle(JSON.stringify(event.event_data), 120)} /></span>}</>,
    more: () => <Output of={JSON.stringify(event, null, 2)} />,
  };
}
