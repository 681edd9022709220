import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createElement, Fragment } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test, vi } from "vitest";

vi.hoisted(() => vi.stubGlobal("location", { origin: "http://omoi.test" }));

import type { Event } from "../src/lib/api";
import { wholeCardOf } from "../src/timeline/whole";

const event = (sequence: number, type: string, data: object, omitted?: string[]): Event =>
  ({ id: `s:${sequence}`, sandbox_id: "s", sequence, attempt: 1, event_type: type, event_data: data, created_at: "2026-01-01T00:00:00Z", omitted }) as unknown as Event;

/** Draws a card closed and open; loaded are the texts that the server has answered with, by event and part. */
function drawn(of: Event, ends: Event[] = [], loaded: Record<string, string> = {}): { closed: string; open: string } {
  const client = new QueryClient(), card = wholeCardOf(of, ends);
  for (const [key, value] of Object.entries(loaded)) {
    const [id, part] = key.split(" ");
    client.setQueryData(["part", id, part, 2 ** 20], { value: part === "*" ? JSON.parse(value) : value, held: value.length, total: value.length });
  }
  const draw = (...parts: React.ReactNode[]) => renderToStaticMarkup(createElement(QueryClientProvider, { client }, createElement(Fragment, null, ...parts)));
  return { closed: draw(card.label, card.main, card.all?.label), open: draw(card.all?.draw() ?? card.more?.()) };
}

test("a result that the stream leaves out is loaded when the card is opened", () => {
  const call = event(1, "agent.tool_use", { tool: "Bash", input: { command: "make" }, tool_use_id: "a" });
  const end = event(2, "agent.tool_completed", { tool_use_id: "a" }, ["result"]);
  const before = drawn(call, [end]), after = drawn(call, [end], { "s:2 /result": "all of it" });
  expect(before.open).toContain("Loading");
  expect(before.open).not.toContain("no output");
  expect(after.open).toContain("all of it");
});

test("a result that was cut is whole when the card is opened, at any depth", () => {
  const call = event(1, "agent.tool_use", { tool: "Bash", input: { command: "make" }, tool_use_id: "a" });
  const end = { ...event(2, "agent.tool_completed", { tool_use_id: "a", tool_response: { stdout: "beg", "a/b": 1 } }), truncated: [{ part: "/tool_response/stdout", bytes: 9 }] } as Event;
  expect(drawn(call, [end], { "s:2 /tool_response/stdout": "beginning" }).open).toContain("beginning");
  expect((end.event_data as { tool_response: { stdout: string } }).tool_response.stdout, "the held event stays").toBe("beg");
});

test("a field that was left out may be an object", () => {
  const of = event(1, "agent.tool_use", { tool: "Write", tool_use_id: "a" }, ["input"]);
  for (const text of ['{"file_path":"a.go"}', '{"file_path":"a.go', '{"file_path":"a.go\\', '{"file_path":"a.go\\u00']) { // whole, and cut
    expect(drawn(of, [], { "s:1 /input": text }).open, text).toContain("file_path: a.go<");
  }
});

test("an event without any of its fields claims nothing, and is loaded when opened", () => {
  const of = event(3, "agent.completed", {}, ["*"]);
  const { closed, open } = drawn(of, [], { "s:3 *": '{"success": false, "error": "It broke."}' });
  expect(closed).toMatch(/^Event.*agent\.completed/);
  expect(closed).not.toMatch(/Completed|Not done|\{\}/);
  expect(open).toContain("It broke.");
});

test("texts that the stream leaves out are not called empty, and their size is said", () => {
  expect(drawn(event(4, "agent.error", {}, ["error"])).closed).not.toContain("No reason given");
  const { closed, open } = drawn(event(5, "agent.message", {}, ["content"]), [], { "s:5 /content": "A long text." });
  expect(closed).toContain("Show all, over 16 KiB");
  expect(open).toContain("A long text.");
  const cut = { ...event(6, "agent.message", { content: "A lo" }), truncated: [{ part: "/content", bytes: 3 * 2 ** 20 }] } as Event;
  expect(drawn(cut).closed).toContain("A lo</div>Show all 3.0 MiB");
});

test("a part of a text offers the rest", () => {
  const client = new QueryClient(), of = event(7, "agent.message", {}, ["content"]);
  client.setQueryData(["part", "s:7", "/content", 2 ** 20], { value: "begin", held: 2 ** 20, total: 5 * 2 ** 20 });
  const html = renderToStaticMarkup(createElement(QueryClientProvider, { client }, wholeCardOf(of, []).all!.draw()));
  expect(html).toContain("The first 1.0 MiB.");
  expect(html).toContain("Show all 5.0 MiB");
});

test("a transcript, which no card shows, is not loaded", () => {
  expect(wholeCardOf(event(6, "agent.completed", { success: true }, ["transcript_b64"]), []).more).toBeUndefined();
});

test("names from the pointer of a text reach no prototype", () => {
  const of = { ...event(8, "agent.message", { content: "x" }), truncated: [{ part: "/__proto__/polluted", bytes: 9 }] } as Event;
  drawn(of, [], { "s:8 /__proto__/polluted": "yes" });
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
});
