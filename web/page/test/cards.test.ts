import { readFileSync } from "node:fs";

import { createElement, Fragment } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";

import type { Event } from "../src/lib/api";
import { age, bytes, clock, count, cutMiddle, day, duration, usd } from "../src/lib/format";
import { Prose } from "../src/lib/prose";
import { Clock, Text } from "../src/lib/text";
import { AttemptLog } from "../src/stream/store";
import { Filter } from "../src/timeline/bar";
import { cardOf, knownTypes, Outcome, type Card } from "../src/timeline/cards";
import { Diff } from "../src/timeline/details";
import { inputText, timeOf } from "../src/timeline/fields";
import { random } from "./random";

const catalog = JSON.parse(readFileSync(new URL("../../../internal/event/catalog/catalog.json", import.meta.url), "utf8")) as
  { events: Record<string, { fields?: Record<string, string> }> };

const event = (type: string, data: unknown): Event => ({ id: "s:1", sequence: 1, attempt: 1, event_type: type, event_data: data, created_at: "2026-01-01T00:00:00Z" }) as Event;

const drawn = (card: Card): string => renderToStaticMarkup(createElement(Fragment, null, createElement(Text, { of: card.label }), card.main, card.meta, card.more?.()));

test("every event of the catalog has a card, but those that show best as they are", () => {
  const without = Object.keys(catalog.events).filter((t) => !knownTypes().includes(t));
  expect(without.filter((t) => !t.startsWith("spec."))).toEqual(["heartbeat"]);
});

test("an unknown type has a neutral card", () => {
  expect(cardOf(event("agent.of_the_future", { a: 1 }), []).label).toBe("Event");
  expect(cardOf(event("__proto__", {}), []).label).toBe("Event");
  expect(cardOf(event("constructor", {}), []).label).toBe("Event");
});

test("no card fails, whatever an agent puts into the fields", () => {
  const next = random(3), values = [null, 0, -1, NaN, "", "x\ny", "<b>", [], [1, null], {}, { a: { b: [] } }, true, "🙂".repeat(50), "a\u202eb", "\u{e0041}"];
  for (const [type, { fields }] of Object.entries(catalog.events)) {
    for (let n = 0; n < 50; n++) {
      const any = () => values[Math.floor(next() * values.length)];
      const data = Object.fromEntries([...Object.keys(fields ?? {}), "input", "tool", "tool_use_id", "success"].map((f) => [f, any()]));
      const card = cardOf(event(type, data), [event("agent.tool_completed", data), event("agent.file_edited", data)]);
      expect(typeof card.label).toBe("string");
      expect(drawn(card)).not.toMatch(/<b>|undefined|NaN|\[object|\u202e|\u{e0041}/u);
    }
  }
});

test("every character that is not seen has a mark", () => {
  const marked = (code: number): string => renderToStaticMarkup(createElement(Text, { of: `a${String.fromCodePoint(code)}b` }));
  for (const code of [0, 7, 0x1b, 0x7f, 0xad, 0x061c, 0x115f, 0x1160, 0x180e, 0x200b, 0x200f, 0x2028, 0x2029, 0x202e, 0x2066, 0x3164, 0xfeff, 0xffa0, 0xe0001, 0xe0041, 0xe007f]) {
    expect(marked(code)).toBe(`a<span class="mark">U+${code.toString(16).toUpperCase().padStart(4, "0")}</span>b`);
  }
  for (const text of ["a\tb\r\nc", "ü 漢 🙂"]) {
    expect(renderToStaticMarkup(createElement(Text, { of: text }))).toBe(text);
  }
});

test("an agent that ends by itself may have failed", () => {
  expect(drawn(cardOf(event("agent.shutdown", { reason: "complete" }), []))).toContain("It ended by itself.");
});

test("the end of an agent says Done, unless its sender says otherwise", () => {
  const end = (data: object) => [cardOf(event("agent.completed", data), [])].map((c) => [c.label, c.tone])[0];
  expect(end({ success: true, final_output: "Bye." })).toEqual(["Done", "done"]);
  expect(end({})).toEqual(["Done", "done"]);
  expect(end({ success: false, error: "It broke." })).toEqual(["Not done", "fail"]);
  expect(end({ agent_type: "validator", success: true, validation_passed: false, validation_feedback: "No test." })).toEqual(["Rejected", "fail"]);
  expect(end({ agent_type: "validator", success: true, validation_passed: false }), "the verdict came before").toEqual(["Done", undefined]);
  expect(end({ agent_type: "validator", validation_passed: true })).toEqual(["Passed", "done"]);
});

test("a call that a cancel ended has not failed", () => {
  const use = event("agent.tool_use", { tool: "Bash", input: { command: "sleep 7000" } });
  const ends = (response: object) => [event("agent.tool_completed", { tool_response: response }), event("agent.tool_result", { is_error: true })];
  const shown = (outcome: string, response: object): string => renderToStaticMarkup(createElement(Outcome, { value: outcome }, cardOf(use, ends(response)).main));
  const ended = { outcome: "stopped", signal: "terminated", exit_code: -1 };
  expect(shown("cancelled", ended)).toMatch(/ended by the cancel: .*sleep 7000/);
  expect(shown("failed", ended)).toContain("stopped: ");
  for (const outcome of ["cancelled", "failed"]) {
    expect(shown(outcome, ended)).not.toContain("failed");
    expect(shown(outcome, { outcome: "exited", exit_code: 1 })).toMatch(/class="failed">failed: /);
  }
});

test("a call took as long as its tool says", () => {
  expect(timeOf([event("agent.file_edited", {}), event("agent.tool_completed", { tool_response: { duration_ms: 5003 } }), event("agent.tool_result", {})])).toBe(5003);
  expect(timeOf([event("agent.tool_result", { result: "done" })])).toBeUndefined();
});

test("a diff has headers before its first hunk only", () => {
  const diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a comment of SQL\n+++ a line\n same\n";
  const html = renderToStaticMarkup(createElement(Diff, { of: diff, whole: true }));
  expect([...html.matchAll(/<span class="(\w*)">/g)].map((m) => m[1]).filter((c) => c !== "hidden-text")).toEqual(["hunk", "hunk", "hunk", "del", "add"]);
});

test("numbers read well", () => {
  expect([0, 999, 41_000, 760_000, 3_900_000, 187_200_000].map(duration)).toEqual(["0 ms", "999 ms", "41 s", "12:40", "1 h 5 min", "2 d 4 h"]);
  expect([4000, 240_000, 7_200_000].map(age)).toEqual(["4 s", "4 min", "2 h"]);
  expect([usd(null), usd(0), usd(0.0042), usd(1.1), usd(1, true)]).toEqual(["unknown", "0.00 USD", "0.0042 USD", "1.10 USD", "at least 1.00 USD"]);
  expect([812, 9999, 38_400, 1_250_000, 12_000_000].map(count)).toEqual(["812", "9,999", "38 k", "1.3 M", "12 M"]);
  expect([bytes(12), bytes(2048), bytes(5 * 2 ** 20)]).toEqual(["12 B", "2.0 KiB", "5.0 MiB"]);
  expect(cutMiddle("internal/task/decide.go", 11)).toBe("inter…de.go");
});

test("the choice of a tool shows invisible characters of its name", () => {
  const log = new AttemptLog(1);
  log.add(event("agent.tool_use", { tool: "Ba\u202esh", tool_use_id: "c" }), 100);
  expect(renderToStaticMarkup(createElement(Filter, { log, choice: {}, choose: () => undefined }))).toContain(">BaU+202Esh</option>");
});

const prose = (of: string): string => renderToStaticMarkup(createElement(Prose, { of }));

test("a text of a model has its fences, and one without an end is text", () => {
  expect(prose("a\n```go\nx := 1\n\n```\nb")).toBe('a<pre class="box">x := 1\n</pre>b');
  expect(prose("```\n```\n```\nb `c`")).toBe('<pre class="box"></pre>```\nb <code class="span">c</code>');
  expect(prose("a\n```go\nx")).toBe("a\n```go\nx");
  expect(prose("```\r\nx\r\n```\r\n**b**")).toBe('<pre class="box">x\r</pre><strong>b</strong>');
});

test("of a long text the beginning is drawn, with a button for more", () => {
  const marks = (html: string): number => html.split('class="mark"').length - 1, hostile = "\u200b".repeat(100_000);
  for (const [type, data] of [["agent.message", { content: hostile }], ["agent.thinking", { content: `x\n${hostile}` }], ["agent.interrupted", { reason: hostile }]] as const) {
    expect(marks(drawn(cardOf(event(type, data), []))), type).toBeLessThanOrEqual(20_000);
    expect(drawn(cardOf(event(type, data), [])), type).toContain("Show more");
  }
});

test("a long diff offers the rest", () => {
  const diff = renderToStaticMarkup(createElement(Diff, { of: `@@ -1 +1 @@\n${"+line\n".repeat(9000)}`, whole: true }));
  expect(diff).toMatch(/The first 20,000 of 54,012 characters\. <button.*Show more/);
  expect(diff).not.toContain("The beginning of the diff.");
});

test("a time of another day has its date", () => {
  const shown = (at: string): string => renderToStaticMarkup(createElement(Clock, { at })).replace(/<[^>]*>/g, ""), today = new Date().toISOString();
  expect(shown(today)).toBe(clock(today));
  expect(shown("2020-02-03T12:00:00Z")).toBe(day("2020-02-03T12:00:00Z"));
});

test("the input of a tool keeps the lines of its texts", () => {
  expect(inputText({ command: "go test ./...\nexit 1", timeout: 1000, env: null })).toBe("command:\ngo test ./...\nexit 1\ntimeout: 1000\nenv: ");
  expect(inputText("ls")).toBe("ls");
  expect(inputText(undefined)).toBe("");
});
