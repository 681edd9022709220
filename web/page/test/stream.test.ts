import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Stream, type Connection } from "../src/stream/connection";

const text = "id: 1:1\ndata: {\"n\":1,\"s\":\"ü→🙂\"}\n\n: beat\n\nid: 1:2\r\ndata: {\"n\":2}\r\n\r\nevent: hello\ndata: x\n\nid: 1:3\ndata: a\ndata: b\n\n";
const want = [["1:1", "{\"n\":1,\"s\":\"ü→🙂\"}"], ["1:2", "{\"n\":2}"], [undefined, "x"], ["1:3", "a\nb"]];

let answers: (() => Response | Promise<Response>)[] = [], asked: string[] = [];
let visible = "visible", listeners: Record<string, () => void> = {};

beforeEach(() => {
  vi.useFakeTimers();
  [answers, asked, visible, listeners] = [[], [], "visible", {}];
  const target = { addEventListener: (name: string, f: () => void) => (listeners[name] = f), removeEventListener: (name: string) => delete listeners[name] };
  vi.stubGlobal("window", target);
  vi.stubGlobal("document", { ...target, get visibilityState() { return visible; } });
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
    asked.push(url);
    const answer = answers.shift() ?? (() => new Promise<Response>((_, no) => init.signal?.addEventListener("abort", () => no(new Error("aborted")))));
    return Promise.resolve().then(answer);
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

function body(pieces: Uint8Array[], open = false): Response {
  return new Response(new ReadableStream({
    start(c) {
      pieces.forEach((p) => c.enqueue(p));
      if (!open) {
        c.close();
      }
    },
  }));
}

function follow() {
  const frames: unknown[][] = [], states: Connection[] = [];
  const stream = new Stream("", {
    url: (cursor) => cursor,
    frame: (f) => { frames.push([f.id, f.data]); return f.id; },
    changed: (s) => states.push(s),
  });
  stream.start();
  return { frames, states, stream };
}

const settle = () => vi.advanceTimersByTimeAsync(0);

test("frames are the same in every split of the bytes", async () => {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at <= bytes.length; at++) {
    answers = [() => body([bytes.slice(0, at), bytes.slice(at)].filter((p) => p.length > 0), true)];
    const { frames, stream } = follow();
    await settle(); await settle(); await settle();
    expect(frames, `split at ${at}`).toEqual(want);
    stream.stop();
  }
});

test("a lost connection continues behind the newest frame, for ever", async () => {
  answers = [() => body([new TextEncoder().encode(text.slice(0, text.indexOf("event: hello")) + "id: 1:9\ndata: cut")]),
    () => { throw new TypeError("down"); }, () => new Response("{}", { status: 503 })];
  const { frames, states, stream } = follow();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(frames.map(([id]) => id)).toEqual(["1:1", "1:2"]);
  expect(asked.slice(0, 4)).toEqual(["", "1:2", "1:2", "1:2"]);
  expect(states).toContain("lost");
  stream.stop();
});

test("a silent connection is given up, and asked again", async () => {
  answers = [() => body([new TextEncoder().encode("id: 1:1\ndata: {}\n\n")], true)];
  const { stream } = follow();
  await vi.advanceTimersByTimeAsync(44_000);
  expect(asked).toEqual([""]);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(asked).toEqual(["", "1:1"]);
  stream.stop();
});

test("a hidden page has no stream, and comes back by its cursor", async () => {
  answers = [() => body([new TextEncoder().encode("id: 1:1\ndata: {}\n\n")], true)];
  const { states, stream } = follow();
  await settle(); await settle();
  visible = "hidden";
  listeners["visibilitychange"]!();
  await vi.advanceTimersByTimeAsync(31_000);
  expect(states.at(-1)).toBe("hidden");
  await vi.advanceTimersByTimeAsync(600_000);
  expect(asked).toEqual([""]);
  visible = "visible";
  listeners["visibilitychange"]!();
  await settle();
  expect(asked).toEqual(["", "1:1"]);
  stream.stop();
});

test("a hidden page that loses its connection has no stream in the end", async () => {
  let cut = (): void => undefined;
  answers = [() => new Response(new ReadableStream({ start: (c) => { cut = () => c.error(new Error("cut")); } }))];
  const { states, stream } = follow();
  await settle();
  visible = "hidden";
  listeners["visibilitychange"]!();
  cut();
  await vi.advanceTimersByTimeAsync(31_000);
  expect(states.at(-1)).toBe("hidden");
  const before = asked.length;
  await vi.advanceTimersByTimeAsync(600_000);
  expect(asked.length).toBe(before);
  stream.stop();
});

test("a page that is opened hidden has no stream until it is seen", async () => {
  visible = "hidden";
  const { states, stream } = follow();
  await vi.advanceTimersByTimeAsync(31_000);
  expect([states.at(-1), asked.length]).toEqual(["hidden", 0]);
  visible = "visible";
  listeners["visibilitychange"]!();
  await settle();
  expect(asked.length).toBe(1);
  stream.stop();
});

test("a lost connection says when it is tried again, and is tried at once when asked", async () => {
  answers = [() => { throw new TypeError("down"); }];
  const { states, stream } = follow();
  await settle(); await settle();
  expect(states.at(-1)).toBe("lost");
  expect(stream.nextTry).toBeGreaterThan(performance.now());
  stream.now();
  await settle();
  expect([asked.length, stream.nextTry]).toEqual([2, 0]);
  stream.stop();
});

test("the list asks a server that does not know its stream again, with growing pauses, and follows the next one", async () => {
  vi.stubGlobal("location", { origin: "http://omoi.test" });
  vi.stubGlobal("document", { addEventListener: () => undefined, removeEventListener: () => undefined, visibilityState: "visible", documentElement: { dataset: {} } });
  vi.spyOn(Math, "random").mockReturnValue(1);
  const { TaskChanges } = await import("../src/home/changes");
  const refuse = (status: number) => () => { at.push(Date.now()); return new Response(JSON.stringify({ status }), { status }); };
  const at: number[] = [], begun = Date.now(), changes = new TaskChanges("APP");
  let told = 0;
  changes.subscribe(() => { told++; });
  answers = [refuse(404), refuse(422), refuse(429), refuse(503), () => { at.push(Date.now()); return body([new TextEncoder().encode('event: hello\ndata: {"server_version":"v2"}\n\n')], true); }];
  changes.start();
  await vi.advanceTimersByTimeAsync(30_000);
  expect(at.map((t) => t - begun)).toEqual([0, 400, 1200, 2800, 6000]);
  expect([told, asked[0]]).toEqual([1, "/api/v1/tasks/stream?project_id=APP"]);
  changes.stop();
  answers = [refuse(403)];
  changes.start();
  await vi.advanceTimersByTimeAsync(30_000);
  expect([at.length, asked.length]).toEqual([6, 6]);
  changes.stop();
});

test("a list is read once the stream is open, and again after the next opening", async () => {
  const hello = () => body([new TextEncoder().encode('event: hello\ndata: {"server_version":"v2"}\n\n')]);
  vi.stubGlobal("location", { origin: "http://omoi.test" });
  vi.stubGlobal("document", { addEventListener: () => undefined, removeEventListener: () => undefined, visibilityState: "visible", documentElement: { dataset: {} } });
  const { TaskChanges } = await import("../src/home/changes");
  const changes = new TaskChanges();
  let told = 0, opened = 0;
  changes.subscribe(() => { told++; });
  changes.onOpen(() => { opened++; });
  answers = [hello, hello, () => body([], true)];
  expect(changes.isOpen()).toBe(false);
  changes.start();
  await vi.advanceTimersByTimeAsync(0);
  expect([changes.isOpen(), opened, told]).toEqual([true, 1, 0]);
  await vi.advanceTimersByTimeAsync(5000);
  expect([opened, told]).toEqual([1, 1]);
  changes.stop();
});

test("a list does not wait for ever for a stream that something on the way holds", async () => {
  vi.stubGlobal("location", { origin: "http://omoi.test" });
  vi.stubGlobal("document", { addEventListener: () => undefined, removeEventListener: () => undefined, visibilityState: "visible", documentElement: { dataset: {} } });
  const { TaskChanges } = await import("../src/home/changes");
  const changes = new TaskChanges();
  answers = [() => body([], true)];
  changes.start();
  await vi.advanceTimersByTimeAsync(499);
  expect(changes.isOpen()).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(changes.isOpen()).toBe(true);
  changes.stop();
});

test("the end of a task and a refusal are final", async () => {
  answers = [() => body([new TextEncoder().encode("event: end\ndata: {}\n\n")])];
  const done = follow();
  await vi.advanceTimersByTimeAsync(20_000);
  answers = [() => new Response("{\"status\":404}", { status: 404 })];
  const gone = follow();
  await vi.advanceTimersByTimeAsync(20_000);
  expect([done.states.at(-1), gone.states.at(-1), asked.length]).toEqual(["ended", "refused", 2]);
});
