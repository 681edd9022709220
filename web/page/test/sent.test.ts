import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { Command } from "../src/lib/api";
import { withStorage } from "./kept";

const reloaded = async () => {
  vi.resetModules();
  return { ...await import("../src/task/draft"), ...await import("../src/task/asked") };
};

beforeEach(withStorage);
afterEach(() => vi.unstubAllGlobals());

test("a draft and its key outlive a reload; another text has another key", async () => {
  const before = await reloaded();
  before.write("t", "Hello");
  const { text, key } = before.draftOf("t"), after = await reloaded();
  expect(after.draftOf("t")).toEqual({ text, key, question: "" });
  after.write("t", "Hello!");
  expect(after.draftOf("t").key).not.toBe(key);
});

test("a draft stays with the question under which it was begun, until the user moves it", async () => {
  const { write, draftOf, isOfOther, questionOf } = await reloaded();
  write("t", "a message");
  expect(isOfOther(draftOf("t"), questionOf(1, 5)), "begun under no question").toBe(false);
  write("t", "");
  write("t", "Fine", questionOf(1, 5));
  write("t", "Fine, go on", questionOf(2, 3));
  const later = await reloaded(), draft = later.draftOf("t");
  expect([questionOf(1, 5), questionOf(1, 0), questionOf(1, 9), questionOf(2, 0), questionOf(2, 5)].map((q) => isOfOther(draft, q))).toEqual([false, false, true, true, true]);
  expect([questionOf(1, 0), questionOf(1, 5), questionOf(2, 5)].map((q) => later.isNamedBy({ ...draft, question: questionOf(1, 0) }, q))).toEqual([false, true, false]);
  expect(later.isNamedBy(draft, questionOf(1, 9))).toBe(false);
  later.moveTo("t", questionOf(2, 5));
  expect(isOfOther(later.draftOf("t"), questionOf(2, 5))).toBe(false);
  expect(later.draftOf("t")).toEqual({ ...draft, question: questionOf(2, 5) });
});

test("a text that is written while the one before is sent stays", async () => {
  const page = await reloaded();
  page.write("t", "one");
  const sent = page.draftOf("t");
  page.write("t", "one and two");
  page.drop("t", sent);
  expect(page.draftOf("t").text).toBe("one and two");
  page.drop("t", page.draftOf("t"));
  expect(page.draftOf("t").text).toBe("");
  expect(window.sessionStorage.getItem("omoi.draft.t")).toBeNull();
});

test("a receipt takes the answer without a page that shows it, and after a reload none is awaited", async () => {
  const page = await reloaded(), command = { state: "carried_out" } as Command;
  page.addAsked("t", { key: "a", word: "Cancel", at: 1 });
  page.addAsked("t", { key: "b", word: "Retry", at: 2 });
  page.addAsked("t", { key: "c", word: "Fork", at: 3, id: "7" });
  page.changeAsked("t", (a) => a.key === "a", { id: "6", command });
  expect((await reloaded()).askedOf("t")).toEqual([
    { key: "a", word: "Cancel", at: 1, id: "6", command }, { key: "b", word: "Retry", at: 2, unanswered: true }, { key: "c", word: "Fork", at: 3, id: "7" },
  ]);
});
