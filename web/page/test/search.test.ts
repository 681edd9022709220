import { expect, test } from "vitest";

import { pinnedTo } from "../src/task/search";

test("an address names an attempt of the task by its fragment, or else by its search", () => {
  const attempts = new Map([[1, {}], [2, {}]]);
  expect(pinnedTo(attempts, "e1:118", { attempt: 2 })).toBe(1);
  expect(pinnedTo(attempts, "content", { attempt: 2 })).toBe(2);
  expect(pinnedTo(attempts, "", {})).toBeUndefined();
  expect(pinnedTo(attempts, "e7:1", { attempt: 7 })).toBeUndefined();
  expect(pinnedTo(attempts, "e7:1", { attempt: 1 })).toBe(1);
});
