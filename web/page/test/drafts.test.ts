import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { afterEach, expect, test, vi } from "vitest";

vi.hoisted(() => vi.stubGlobal("location", { origin: "http://omoi.test" }));

import type { Task } from "../src/lib/api";
import { Comment } from "../src/review/comment";
import { addDraft, draftsOf, keyOf, setDraft } from "../src/review/drafts";
import { sendAll } from "../src/review/send";
import type { Asked } from "../src/task/receipts";
import { withStorage } from "./kept";

afterEach(() => vi.unstubAllGlobals());

test("comments have one key until they change, also in a browser that keeps nothing", () => {
  const key = keyOf("t");
  expect(key).toMatch(/^[0-9a-f]{32}$/);
  expect(keyOf("t")).toBe(key);
  addDraft("t", { from: "base", to: "latest", path: "a.md", side: "new", line: 1, quote: "" });
  const id = draftsOf("t")[0]!.id;
  expect(keyOf("t")).toBe(key); // nothing is written yet
  setDraft("t", id, { text: "Why?" });
  const other = keyOf("t");
  expect(other).not.toBe(key);
  setDraft("t", id, { open: false });
  expect(keyOf("t")).toBe(other);
});

/** Writes a comment to a task, and returns it. */
function written(task: string) {
  addDraft(task, { from: "base", to: "latest", path: "a.md", side: "new", line: 1, quote: "" });
  setDraft(task, draftsOf(task)[0]!.id, { text: "Why?" });
  return draftsOf(task)[0]!;
}

test("a comment that is being sent can neither be changed nor sent again, and stays after a refusal", async () => {
  const draft = written("u"), receipts: Partial<Asked>[] = [], bodies: unknown[] = [];
  let answer = (_: Response): void => undefined;
  vi.stubGlobal("fetch", async (request: Request) => {
    bodies.push(await request.json());
    return new Promise<Response>((resolve) => (answer = resolve));
  });
  const shown = (): string => renderToStaticMarkup(createElement(Comment, { task: "u", draft: draftsOf("u")[0]! }));
  const sent = sendAll({ id: "u" } as Task, [draft], { list: [], add: () => undefined, set: (_, change) => receipts.push(change) });
  await vi.waitFor(() => expect(bodies.length).toBe(1));
  expect(draftsOf("u")[0]!.sending).toBe(true);
  expect(shown()).toContain("being sent");
  expect(shown()).not.toMatch(/<button|<textarea/);
  answer(Response.json({ status: 409, code: "conflict", detail: "No." }, { status: 409, headers: { "Content-Type": "application/problem+json" } }));
  await sent;
  expect(receipts).toEqual([{ refused: "No." }]);
  setDraft("u", draft.id, { open: false });
  expect(shown()).toMatch(/not sent.*Edit.*Delete/);
});

test("a reload while comments are sent leaves them unsent, with the same key", async () => {
  withStorage();
  const draft = written("v"), key = keyOf("v");
  setDraft("v", draft.id, { sending: true });
  expect(keyOf("v")).toBe(key);
  vi.resetModules();
  const page = await import("../src/review/drafts");
  expect(page.draftsOf("v")).toEqual([draft]);
  expect(page.keyOf("v")).toBe(key);
});
