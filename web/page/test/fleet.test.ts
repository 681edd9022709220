import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test, vi } from "vitest";

vi.hoisted(() => vi.stubGlobal("location", { origin: "http://omoi.test" }));

import { Answer } from "../src/fleet/parts";
import { fleetSearch } from "../src/fleet/search";
import { OmoiError } from "../src/lib/api";

test("the address of the fleet keeps known values, and a bad one falls away", () => {
  const good = { tab: "usage", show: "lost", list: "duplicates", days: 7, by: "tokens", project: "p" };
  expect(fleetSearch(good)).toEqual(good);
  expect(fleetSearch({ tab: "costs", show: 1, list: null, days: 8, by: "usd", project: ["p"], other: "x" })).toEqual({});
});

test("what loads says why its last request failed", () => {
  const drawn = (failureReason: Error | null) => renderToStaticMarkup(createElement(Answer<string>, { of: { error: null, failureReason }, children: (data) => data }));
  expect(drawn(null)).toContain("Loading…<");
  expect(drawn(new OmoiError({ status: 503, code: "unavailable", title: "", detail: "Temporal does not answer." } as OmoiError["problem"]))).toContain("Loading… Temporal does not answer.<");
});
