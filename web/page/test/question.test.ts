import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { afterAll, expect, test, vi } from "vitest";

vi.hoisted(() => vi.stubGlobal("location", { origin: "http://omoi.test" }));

import type { Event, Task } from "../src/lib/api";
import { Settled } from "../src/lib/settled-question";
import { TaskEvents } from "../src/stream/events";
import { takeOutline } from "../src/stream/outline";
import { Question } from "../src/task/question";

afterAll(() => vi.unstubAllGlobals());

const long = 2000, asked = 10, content = `${"Which one? ".repeat(300)}The end.`;
const typeOf = (n: number): string => ({ 5: "agent.message", [asked]: "agent.message", [asked + 1]: "agent.waiting" })[n] ?? "agent.heartbeat";
const event = (n: number): Event => ({
  id: `s:${n}`, sandbox_id: "s", sequence: n, attempt: 1, event_type: typeOf(n), created_at: "2026-01-01T00:00:00Z", event_data: typeOf(n) === "agent.message" ? { content: `${n} ${content.slice(0, 2048)}` } : {},
  ...(n === asked && { truncated: [{ part: "/content", bytes: content.length }] }),
}) as unknown as Event;

test("the question of an agent that has waited for long is found, loaded, and shown as a whole", async () => {
  const ranges: string[] = [], task = { id: "t", attempts: [{ number: 1, sandbox_id: "s", events: long }], completed_at: null } as unknown as Task;
  vi.stubGlobal("fetch", (request: Request) => {
    const query = new URL(request.url).searchParams, from = Number(query.get("from")), to = Number(query.get("to"));
    ranges.push(`${from} to ${to}`);
    return Promise.resolve(Response.json({ from, to, items: Array.from({ length: to - from + 1 }, (_, i) => event(from + i)) }));
  });
  const events = new TaskEvents(task), log = events.log(1), client = new QueryClient();
  events.connection = "ended";
  const drawn = () => renderToStaticMarkup(createElement(QueryClientProvider, { client }, createElement(Question, { task, events, log, version: 0 })));
  for (let n = long - 500; n <= long; n++) { // where the stream began
    log.add(event(n), 1);
  }
  expect(log.question(), "what is before them is not known").toBe(0);
  drawn();
  expect(ranges).toEqual([]);
  const all = Array.from({ length: long }, (_, i) => typeOf(i + 1)), types = [...new Set(all)], zeros = all.map(() => 0);
  takeOutline(log, { after: 0, type: all.map((t) => types.indexOf(t)), event_types: types, at_ms: zeros, tool: zeros, tools: [""], call: zeros, call_ids: [""], failed: [], started_at: "2026-01-01T00:00:00Z" } as unknown as Parameters<typeof takeOutline>[1]);
  expect(log.question()).toBe(asked);
  drawn();
  await vi.waitFor(() => expect(log.body(asked)).toBeDefined());
  expect(ranges).toEqual(["1 to 256"]);
  expect(drawn()).toContain("Loading…");
  client.setQueryData(["part", `s:${asked}`, "/content", 2 ** 20], { value: content, held: content.length, total: content.length });
  expect(drawn()).toContain("The end.");
});

test("an answer of the agent is not its question, and a new wait has a new one", () => {
  const log = new TaskEvents({ id: "t", attempts: [], completed_at: null } as unknown as Task).log(1);
  const add = (n: number, event_type: string) => log.add({ ...event(n), event_type }, 1);
  ["agent.message", "agent.waiting", "agent.message_injected", "agent.message"].forEach((type, i) => add(i + 1, type));
  expect(log.question()).toBe(1);
  add(5, "agent.waiting");
  expect(log.question()).toBe(4);
  log.grow(9); // events that are on their way
  expect(log.question()).toBe(4);
});

test("a question says its state, who answered and why it ended, as text only", () => {
  const shown = (of: object): string => renderToStaticMarkup(createElement(Settled, { of: { answered_by: "", answer: "", reason: "", settled_at: "2026-01-01T12:00:00Z", ...of } as unknown as Parameters<typeof Settled>[0]["of"] })).replaceAll(/<(?!img)[^>]*>/g, "");
  expect(shown({ state: "answered", answered_by: "ci", answer: "<img>" })).toMatch(/^Answered by ci .*: &lt;img&gt;$/);
  expect(shown({ state: "expired", reason: "Nobody answered." })).toMatch(/^Expired .*: Nobody answered\.$/);
  expect(shown({ state: "open", settled_at: null })).toBe("Awaits an answer");
  expect(shown({ state: "of_the_future" })).toMatch(/^of_the_future /);
});
