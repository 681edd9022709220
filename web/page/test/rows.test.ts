// @vitest-environment jsdom
import { act, createElement } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, expect, test, vi } from "vitest";

import type { Event } from "../src/lib/api";
import { List } from "../src/timeline/list";
import { Row } from "../src/timeline/row";

const cards = vi.hoisted(() => [] as number[]);
vi.mock("../src/timeline/whole", () => ({ wholeCardOf: (event: Event) => (cards.push(event.sequence), { label: "Bash", main: "ls" }) }));

afterEach(() => vi.unstubAllGlobals());

test("a list follows while it has the focus, and no more when a row has it", async () => {
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
  vi.stubGlobal("ResizeObserver", class { observe(): void { /* nothing is resized */ } disconnect(): void { /* nothing was observed */ } });
  const box = document.body.appendChild(document.createElement("div")), root = createRoot(box), follows: boolean[] = [];
  await act(async () => root.render(createElement(List, { count: 5, label: "Events", row: (n) => createElement("button", null, n), follow: true, onFollow: (to) => follows.push(to) })));
  await act(async () => box.querySelector<HTMLElement>(".feed")!.focus());
  expect(follows).toEqual([]);
  await act(async () => box.querySelector("button")!.focus());
  expect(follows).toEqual([false]);
  await act(async () => root.unmount());
});

test("a row is drawn again only after a change of its event, its ends or its look", async () => {
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
  const box = document.body.appendChild(document.createElement("div")), root = createRoot(box), toggle = (): void => undefined;
  const event = (sequence: number): Event => ({ event_type: "agent.tool_use", sequence, attempt: 1, created_at: "2026-01-01T10:00:00Z", event_data: {} }) as unknown as Event;
  const call = event(1), end = event(2), look = { endedAt: 0, running: false, chosen: false, numbers: false, inner: false, inside: 0, open: false, toggle };
  for (const change of [{ ends: [] }, { ends: [] }, { ends: [end] }, { ends: [end] }, { ends: [event(2)] }, { ends: [end], open: true }]) {
    await act(async () => root.render(createElement(Row, { ...look, event: call, ...change })));
  }
  expect(cards).toEqual([1, 1, 1, 1]);
  await act(async () => root.unmount());
});
