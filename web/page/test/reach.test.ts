import { afterEach, expect, test, vi } from "vitest";

vi.hoisted(() => vi.stubGlobal("location", { origin: "http://omoi.test" }));

import { getReadiness, OmoiError, unreached } from "../src/lib/api";
import { heardTime, now } from "../src/lib/clock";

afterEach(() => vi.unstubAllGlobals());

/** Asks for the readiness while the server, or a proxy in front of it, answers this. */
function ready(status: number, body: string, type = "application/json") {
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(body, { status, headers: { "Content-Type": type } })));
  return getReadiness();
}

test("a server says with 200 and 503 what it needs; any other answer fails", async () => {
  const dependencies = [{ name: "temporal", state: "down" }];
  expect((await ready(503, JSON.stringify({ ready: false, dependencies }))).dependencies).toEqual(dependencies);
  expect((await ready(200, JSON.stringify({ ready: true, dependencies }))).ready).toBe(true);
  for (const [status, body, type] of [[502, "<html>Bad Gateway</html>", "text/html"], [503, "", "text/plain"], [500, JSON.stringify({ code: "internal", status: 500, detail: "It broke." }), "application/problem+json"]] as const) {
    await expect(ready(status, body, type), body).rejects.toThrow(OmoiError);
  }
});

test("a request did not reach the server without an answer, or with that of a proxy", async () => {
  const proxy: unknown = await ready(503, "<html>", "text/html").catch((e: unknown) => e);
  const own = (status: number, code: string) => new OmoiError({ status, code, title: "", detail: "Temporal does not answer." } as OmoiError["problem"]);
  expect([new TypeError("Failed to fetch"), proxy, own(502, "internal")].map(unreached)).toEqual([true, true, true]);
  expect([own(503, "unavailable"), own(500, "internal"), own(404, "not_found")].map(unreached)).toEqual([false, false, false]);
});

test("the clock of the server is not that of an answer which the browser kept", () => {
  const answer = (at: number, headers: object = {}) => new Response("", { headers: { Date: new Date(at).toUTCString(), ...headers } });
  const at = Date.UTC(2040, 0, 1, 12);
  heardTime(answer(at));
  heardTime(answer(at - 8 * 3_600_000, { "Cache-Control": "private, max-age=86400, immutable" }));
  expect(now()).toBeGreaterThanOrEqual(at);
});
