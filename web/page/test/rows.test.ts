// @vitest-environment jsdom
import { act, createElement } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, expect, test, vi } from "vitest";

import { List } from "../src/timeline/list";

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
