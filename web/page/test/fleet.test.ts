import { expect, test } from "vitest";

import { fleetSearch } from "../src/fleet/search";

test("the address of the fleet keeps known values, and a bad one falls away", () => {
  const good = { tab: "usage", show: "lost", list: "duplicates", days: 7, by: "tokens", project: "p" };
  expect(fleetSearch(good)).toEqual(good);
  expect(fleetSearch({ tab: "costs", show: 1, list: null, days: 8, by: "usd", project: ["p"], other: "x" })).toEqual({});
});
