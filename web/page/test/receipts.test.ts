// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, createElement } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { Task } from "../src/lib/api";
import { addAsked, askedOf } from "../src/task/asked";
import { useReceipts } from "../src/task/receipts";

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a command is asked for while its task changes more than once a second", async () => {
  vi.stubGlobal("fetch", () => Promise.resolve(Response.json({ id: "7", state: "carried_out" })));
  addAsked("t", { key: "a", word: "Cancel", at: 1, id: "7" });
  const root = createRoot(document.createElement("div")), client = new QueryClient();
  const Page = ({ task }: { task: Task }) => (useReceipts(task), null);
  for (let n = 0; n < 8; n++) {
    await act(async () => {
      root.render(createElement(QueryClientProvider, { client }, createElement(Page, { task: { id: "t", completed_at: null } as Task })));
      await vi.advanceTimersByTimeAsync(300);
    });
  }
  expect(askedOf("t")[0]!.command?.state).toBe("carried_out");
  await act(async () => root.unmount());
});
