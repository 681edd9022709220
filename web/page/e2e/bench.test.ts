import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { test } from "vitest";
import type { CDPSession, Page } from "playwright-core";

import { fact, on, omoi, root, serve, sleepForever, type Task } from "./omoi";

const out = process.env["OMOI_BENCH_OUT"];

if (out !== undefined) {
  serve();
}

type Sent = [type: string, data: object];

/** A measured value; the verdict compares it with its budget, in the same unit. */
interface Figure { what: string; unit: string; budget?: number; measured: number[] }

const figures: Figure[] = [];

function note(what: string, unit: string, budget: number | undefined, measured: number): void {
  const known = figures.find((f) => f.what === what);
  if (known === undefined) {
    figures.push({ what, unit, budget, measured: [measured] });
  } else {
    known.measured.push(measured);
  }
}

const kib = (n: number): number => n / 1024;
const percentile = (all: number[], p: number): number => [...all].sort((a, b) => a - b)[Math.min(all.length - 1, Math.floor(all.length * p))] ?? 0;

/** Sizes of what is served. */
function sizes(): void {
  const dist = join(root, "api/ui/dist"), files = readdirSync(dist, { recursive: true, withFileTypes: true }).filter((f) => f.isFile() && !f.name.endsWith(".br")).map((f) => join(f.parentPath, f.name));
  const index = readFileSync(join(dist, "index.html"), "utf8"), first = files.filter((f) => f.endsWith("index.html") || index.includes(f.slice(dist.length)));
  const packed = (f: string): number => gzipSync(readFileSync(f), { level: 9 }).length;
  const brotli = (f: string): number => {
    try {
      return readFileSync(`${f}.br`).length;
    } catch {
      return readFileSync(f).length;
    }
  };
  note("first route, brotli", "KB", 170, first.reduce((sum, f) => sum + brotli(f), 0) / 1000);
  note("first route, gzip", "KB", 195, first.reduce((sum, f) => sum + packed(f), 0) / 1000);
  note("everything, gzip", "KB", 450, files.reduce((sum, f) => sum + packed(f), 0) / 1000);
}

/** Adds up what a page loads until it is asked. */
async function loads(cdp: CDPSession): Promise<() => { requests: number; bytes: number }> {
  let requests = 0, bytes = 0;
  const data = new Set<string>();
  await cdp.send("Network.enable");
  cdp.on("Network.requestWillBeSent", (e: { requestId: string; request: { url: string } }) => {
    requests++;
    if (e.request.url.includes("/api/")) {
      data.add(e.requestId);
    }
  });
  cdp.on("Network.dataReceived", (e: { requestId: string; dataLength: number }) => (bytes += data.has(e.requestId) ? e.dataLength : 0)); // before compression
  return () => ({ requests, bytes });
}

/** Notes when something is on the page for the first time, in milliseconds after the navigation began. */
const whenShown = (page: Page, script: string): Promise<unknown> => page.addInitScript(`{
  const look = () => { if (document.body && (${script})) { window.shownAt = performance.now(); } else { requestAnimationFrame(look); } };
  requestAnimationFrame(look);
}`);

const shownAt = (page: Page): Promise<number> => page.waitForFunction(() => (window as unknown as { shownAt?: number }).shownAt).then((h) => h.jsonValue()) as Promise<number>;

/** Watches frames, long tasks and keys until it is asked. */
function watch(page: Page): Promise<() => Promise<{ frames: number[]; long: number[]; keys: number[] }>> {
  return page.evaluate(() => {
    const w = { frames: [] as number[], long: [] as number[], keys: [] as number[], on: true };
    Object.assign(window, { watched: w });
    let last = performance.now();
    const frame = (now: number): void => {
      w.frames.push(now - last);
      last = now;
      if (w.on) {
        requestAnimationFrame(frame);
      }
    };
    requestAnimationFrame(frame);
    const observer = new PerformanceObserver((list) => w.on && w.long.push(...list.getEntries().map((e) => e.duration)));
    observer.observe({ type: "longtask" });
    document.addEventListener("keydown", (e) => requestAnimationFrame(() => setTimeout(() => w.keys.push(performance.now() - e.timeStamp))), true);
  }).then(() => () => page.evaluate(() => {
    const w = (window as unknown as { watched: { on: boolean; frames: number[]; long: number[]; keys: number[] } }).watched;
    w.on = false;
    return w;
  }));
}

/** Sends events to a task in batches, at a rate if one is given. */
class Sender {
  private first = 1;
  private readonly spool = crypto.randomUUID();

  constructor(private readonly task: Task) {}

  async send(events: Sent[], perSecond?: number): Promise<void> {
    const size = perSecond === undefined ? 500 : Math.ceil(perSecond / 10), begun = performance.now();
    for (let at = 0; at < events.length; at += size) {
      const batch = events.slice(at, at + size);
      await omoi.call("POST", `/api/v1/sandboxes/${this.task.sandbox_id}/events/batch`, {
        spool_id: this.spool, first: this.first, events: batch.map(([event_type, event_data]) => ({ event_type, event_data, source: "agent" })),
      });
      this.first += batch.length;
      if (perSecond !== undefined) {
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, begun + ((at + size) / perSecond) * 1000 - performance.now())));
      }
    }
  }
}

const words = "the agent reads a file and changes what it says about the limit of each tool before the tests run again ".split(" ");
const prose = (n: number, many: number): string => Array.from({ length: many }, (_, i) => words[(n * 7 + i * 3) % words.length]).join(" ");

/** Events in the proportions of a coding session. */
function synthetic(from: number, count: number): Sent[] {
  return Array.from({ length: count }, (_, i): Sent => {
    const n = from + i, call = `call-${Math.floor(n / 10)}`;
    switch (n % 10) {
      case 0: return ["agent.message", { content: prose(n, 12 + (n % 50)) }];
      case 1: return ["agent.thinking", { content: prose(n, 30) }];
      case 2: return ["agent.tool_use", { tool: "Read", tool_use_id: `${call}a`, input: { file_path: `internal/task/file${n}.go` } }];
      case 3: return ["agent.tool_completed", { tool_use_id: `${call}a`, tool_response: { stdout: prose(n, 60) } }];
      case 4: return ["agent.tool_use", { tool: "Bash", tool_use_id: `${call}b`, input: { command: `go test ./... -run Test${n}` } }];
      case 5: return ["agent.tool_completed", { tool_use_id: `${call}b`, tool_response: { stdout: prose(n, 80), is_error: n % 97 === 5 } }];
      case 6: return ["agent.tool_use", { tool: "Edit", tool_use_id: `${call}c`, input: { file_path: `internal/task/file${n}.go` } }];
      case 7: return ["agent.file_edited", { tool_use_id: `${call}c`, file_path: `internal/task/file${n}.go`, change_type: "modified", lines_added: n % 20, lines_removed: n % 7, full_diff: `@@ -1,2 +1,2 @@\n-${prose(n, 8)}\n+${prose(n + 1, 8)}\n` }];
      case 8: return ["agent.assistant_message", { model: "m", usage: { output_tokens: n % 900 } }];
      default: return ["agent.heartbeat", { status: "running", current_tool: null }];
    }
  });
}

/** The sessions that the guardian's corpus recorded of a real omoi, one after the other; calls keep IDs of their own. */
function recorded(): Sent[] {
  const folder = join(root, "internal/supervise/testdata/corpus");
  return readdirSync(folder).filter((f) => f.endsWith(".jsonl")).sort().flatMap((file, session) =>
    readFileSync(join(folder, file), "utf8").trim().split("\n").slice(1).map((line): Sent => {
      const { type, data } = JSON.parse(line) as { type: string; data: Record<string, unknown> };
      const id = data["tool_use_id"];
      return [endings.has(type) ? "agent.message" : type, endings.has(type) ? { content: JSON.stringify(data) } : { ...data, ...(typeof id === "string" && { tool_use_id: `${session}-${id}` }) }];
    }));
}

/** Events that would end the task, or make it wait. */
const endings = new Set(["agent.completed", "agent.error", "agent.shutdown", "continuous.completed", "agent.started", "agent.interrupted", "agent.waiting"]);

async function taskWith(title: string): Promise<Task> {
  const task = await omoi.task(title, [sleepForever]);
  return omoi.until(task, (t) => t.status === "running" && t.sandbox_id !== null);
}

/** Measures a list, and a task that opens, grows, and is written to. */
async function measure(task: Task, sender: Sender, live: Sent[], perSecond: number): Promise<void> {
  const head = (await omoi.read(task)).attempts.at(-1)!.events;
  await on("/tasks", async ({ page }) => { // a warm browser
    await page.locator(".task-row").first().waitFor();
    const context = page.context(), list = await context.newPage();
    await whenShown(list, `document.querySelector(".task-row") !== null`);
    const listCdp = await context.newCDPSession(list), listLoads = await loads(listCdp);
    await list.goto(`${omoi.url}/tasks`);
    note("list of tasks ready", "ms", 450, await shownAt(list));
    note("requests of the list", "", 12, listLoads().requests);
    note("first paint", "ms", 150, await list.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]!.startTime));
    await list.close();

    const opened = await context.newPage(), cdp = await context.newCDPSession(opened), seen = await loads(cdp);
    await whenShown(opened, `[...document.querySelectorAll(".feed article")].some((r) => Number(r.getAttribute("aria-posinset")) > ${head - 20})`);
    await opened.goto(`${omoi.url}/tasks/${task.key}`);
    note("task at its end", "ms", 500, await shownAt(opened));
    note("data loaded until then, without the page itself", "KiB", 400, kib(seen().bytes));
    await fact(opened, "complete", "true");
    note("every event known after", "ms", 2000, await opened.evaluate(() => performance.now()));
    for (const slowed of [1, 4]) {
      await cdp.send("Emulation.setCPUThrottlingRate", { rate: slowed });
      const mark = slowed === 1 ? "" : ", slowed 4 times", half = live.splice(0, Math.floor(live.length / (slowed === 1 ? 2 : 1)));
      await opened.locator(".composer textarea").click();
      const ask = await watch(opened), sent = sender.send(half, perSecond);
      await opened.keyboard.type("a text that a user writes while events arrive", { delay: 60 });
      await sent;
      const until = (await omoi.read(task)).attempts.at(-1)!.events, begun = performance.now();
      await opened.waitForFunction((n) => Number(document.documentElement.dataset["head"]) >= n, until);
      note(`behind the server at the end${mark}`, "ms", 1000, performance.now() - begun);
      const { frames, long, keys } = await ask();
      note(`frame while live, p99${mark}`, "ms", slowed === 1 ? 20 : 70, percentile(frames.slice(2), 0.99));
      note(`longest task while live${mark}`, "ms", slowed === 1 ? 50 : 150, Math.max(0, ...long));
      note(`key to paint, p95${mark}`, "ms", slowed === 1 ? 30 : 80, percentile(keys, 0.95));
    }
    await cdp.send("Emulation.setCPUThrottlingRate", { rate: 1 });
    await opened.locator(".feed").hover();
    const ask = await watch(opened);
    for (let n = 0; n < 40; n++) {
      await opened.mouse.wheel(0, -400);
    }
    note("frame while wheeling, p99", "ms", 20, percentile((await ask()).frames.slice(2), 0.99));
    note("elements", "", 800, await opened.evaluate(() => document.querySelectorAll("*").length));
    await cdp.send("HeapProfiler.collectGarbage");
    note("heap", "MiB", 20, (await cdp.send("Runtime.getHeapUsage")).usedSize / 2 ** 20);
    note("events received twice", "", 0, await opened.evaluate(() => Number(document.documentElement.dataset["doubles"])));
  }, { viewport: { width: 1440, height: 900 } });
}

const shown = (n: number | undefined, unit: string): string => (n === undefined ? "" : `${n >= 100 || Number.isInteger(n) ? Math.round(n).toLocaleString("en-US") : n.toFixed(1)}${unit === "" ? "" : ` ${unit}`}`);

function table(): string {
  const rows = figures.map((f) => {
    const met = f.budget === undefined ? "" : f.measured.every((m) => m <= f.budget!) ? "met" : "not met";
    return `| ${f.what} | ${f.budget === undefined ? "" : shown(f.budget, f.unit)} | ${shown(f.measured[0], f.unit)} | ${f.measured.length > 1 ? shown(f.measured[1], f.unit) : ""} | ${met} |`;
  });
  return ["| what | at most | 100,000 events, 500 a second | recorded sessions, 100 a second | verdict |", "|---|---:|---:|---:|---|", ...rows].join("\n");
}

test.skipIf(out === undefined)("the budgets of the page", async () => {
  const load = loadavg().map((n) => n.toFixed(1)).join(" ");
  sizes();
  const flood = await taskWith("Flood"), first = new Sender(flood);
  await first.send(synthetic(0, 90_000));
  await measure(flood, first, synthetic(90_000, 10_000), 500);
  const session = await taskWith("Recorded"), second = new Sender(session), all = recorded();
  await second.send(all.slice(0, -2000));
  await measure(session, second, all.slice(-2000), 100);
  const text = `# Benchmarks of the web page

Written by \`make bench-ui\`; do not edit. The tab is in front, in Chromium without a graphics processor. Server, browser and sender share the machine.

- date: ${new Date().toISOString().slice(0, 16).replace("T", " ")} UTC, version ${(await omoi.call<{ version: string }>("GET", "/healthz")).version}
- machine: ${cpus()[0]!.model}, ${cpus().length} processors; load before the run: ${load}
- recorded sessions: ${all.length.toLocaleString("en-US")} events of the sessions in \`internal/supervise/testdata/corpus\`, one after the other

${table()}
`;
  writeFileSync(out!, text);
  console.log(text);
}, 900_000);
