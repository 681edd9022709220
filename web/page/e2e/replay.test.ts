import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Schemas } from "@omoi/client";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";

import { random } from "../test/random";
import { fact, on, omoi, serve, type Task } from "./omoi";

process.env["OMOI_CHECKPOINT_INTERVAL"] = "100ms";
serve();

const ended = (task: Task): Promise<Task> => omoi.until(task, (t) => t.completed_at !== null);

/** The rows in view by their numbers. How long a call has been running depends on when one looks. */
const rows = (page: Page): Promise<[number, string][]> => page.$$eval(".timeline .feed article", (all) =>
  all.map((r): [number, string] => [Number(r.getAttribute("aria-posinset")), r.textContent!.replace(/running [\d:.]+ ?\w*/, "running")]));

/** A copy of the repository with all checkpoints of a task. */
async function checkpointsOf(task: Task): Promise<{ files: (commit: string) => string[]; show: (commit: string, path: string) => string; byNumber: Map<number, Schemas["Checkpoint"]>; drop: () => void }> {
  const dir = mkdtempSync(join(tmpdir(), "omoi-page-git-")), git = (args: string[], input?: Uint8Array): string => execFileSync("git", args, { cwd: dir, input }).toString();
  git(["clone", "-q", "--bare", omoi.repo, "."]);
  const { items } = await omoi.call<Schemas["CheckpointList"]>("GET", `/api/v1/tasks/${task.id}/checkpoints?limit=100`);
  for (const c of items.toSorted((a, b) => a.attempt - b.attempt || a.number - b.number)) {
    if (c.pack_bytes > 0) {
      git(["index-pack", "--stdin", "--fix-thin"], new Uint8Array(await (await fetch(`${omoi.url}/api/v1/tasks/${task.id}/checkpoints/${c.id}/pack`)).arrayBuffer()));
    }
  }
  const files = (commit: string): string[] => git(["ls-tree", "-r", "--name-only", `${commit}:work`]).trim().split("\n");
  return { files, show: (commit, path) => git(["show", `${commit}:work/${path}`]), byNumber: new Map(items.map((c) => [c.number, c])), drop: () => rmSync(dir, { recursive: true, force: true }) };
}

test("21: a replay shows what was there at 20 events: rows, cost and files", async () => {
  const write = (n: number) => ({ write: { path: "data.txt", content: Array.from({ length: n % 7 + 1 }, (_, l) => `step ${n} line ${l}\n`).join("") } });
  const steps = Array.from({ length: 24 }, (_, n) => [{ say: `step ${n}` }, write(n), { usage: { input_tokens: 100, output_tokens: 10, cost_usd: 0.01 } }, { bash: `echo ${n}; sleep 0.2; test ${n} -ne 7` }, { sleep_s: 0.1 }]).flat();
  const task = await omoi.task("Replay", [{ wait_message: { timeout_s: 60 } }, ...steps, { complete: { output: "done" } }]);
  const live = new Map<number, [number, string][]>();
  await on(`/tasks/${task.key}`, async ({ page }) => {
    await page.exposeFunction("seen", (head: number, shown: [number, string][]) => void live.set(head, shown));
    await page.evaluate(() => new MutationObserver(() => {
      const root = document.documentElement.dataset;
      if (root["complete"] === "true") {
        const shown = [...document.querySelectorAll(".timeline .feed article")].map((r) => [Number(r.getAttribute("aria-posinset")), r.textContent!.replace(/running [\d:.]+ ?\w*/, "running")]);
        void (window as unknown as { seen: (head: number, rows: unknown) => Promise<void> }).seen(Number(root["head"]), shown);
      }
    }).observe(document.documentElement, { attributes: true, attributeFilter: ["data-head"] }));
    const running = await omoi.until(task, (t) => t.status === "running");
    await omoi.call("POST", `/api/v1/sandboxes/${running.sandbox_id}/messages`, { content: "go on" });
    await fact(page, "conn", "ended");
  });
  await ended(task);
  const next = random(21), heads = [...live.keys()], events = await omoi.events(task), git = await checkpointsOf(task);
  expect(heads.length).toBeGreaterThan(30);
  const chosen = Array.from({ length: 20 }, () => heads.splice(Math.floor(next() * heads.length), 1)[0]!);
  try {
    await on(`/tasks/${task.key}/replay#e1:3`, async ({ page }) => {
      await page.locator("[data-moment='3']").waitFor();
      for (const n of chosen) {
        await page.getByRole("spinbutton", { name: /Event/ }).fill(String(n));
        await page.locator(`[data-moment='${n}']`).waitFor();
        const was = live.get(n)!;
        await expect.poll(async () => {
          const now = await rows(page), same = Math.min(now.length, was.length);
          return same >= Math.min(4, was.length) && JSON.stringify(now.slice(-same)) === JSON.stringify(was.slice(-same)) ? "equal" : { now: now.slice(-same), was: was.slice(-same) };
        }, { timeout: 10_000 }).toBe("equal");
        const costs = events.filter((e) => e.sequence <= n).map((e) => (e.event_data as { total_cost_usd?: number }).total_cost_usd).filter((c) => c !== undefined);
        expect(Number((await page.getAttribute(".moment", "data-usd")) ?? -1)).toBeCloseTo(costs.at(-1) ?? -1, 6);
        await sameFiles(page, n);
      }
      await page.waitForFunction((hash) => location.hash === hash, `#e1:${chosen.at(-1)}`);
      await page.reload();
      await page.locator(`[data-moment='${chosen.at(-1)}']`).waitFor();
    });
  } finally {
    git.drop();
  }

  async function sameFiles(page: Page, n: number): Promise<void> {
    const taken = events.findLast((e) => e.sequence <= n && e.event_type === "agent.checkpoint"), number = (taken?.event_data as { checkpoint?: number } | undefined)?.checkpoint;
    if (number === undefined) {
      await page.getByText("No checkpoint was taken before").waitFor();
      return;
    }
    await page.locator(`[data-shown='1.${number}']`).waitFor();
    const file = page.locator("[data-path='data.txt']"), commit = git.byNumber.get(number)!.commit;
    if (!git.files(commit).includes("data.txt")) {
      expect(await file.count()).toBe(0);
      return;
    }
    if (await file.getByRole("button").getAttribute("aria-expanded") === "false") {
      await file.getByRole("button").click();
    }
    const wanted = git.show(commit, "data.txt");
    await expect.poll(async () => (await file.locator(".dl.add code").allTextContents()).map((l) => l.replace(/^\+added /, "")).join("\n") + "\n", { timeout: 10_000 }).toBe(wanted);
  }
}, 240_000);

test("21: the player plays with keys, cuts silences, and says what does not exist", async () => {
  const task = await omoi.task("Play", [{ say: "one" }, { sleep_s: 5 }, { say: "two" }, { say: "three" }, { complete: {} }]);
  const head = (await ended(task)).attempts[0]!.events;
  await on(`/tasks/${task.key}/replay`, async ({ page }) => {
    await page.locator("[data-moment='1']").waitFor();
    await page.keyboard.press("ArrowRight");
    await page.locator("[data-moment='2']").waitFor();
    await page.keyboard.press("End");
    await page.locator(`[data-moment='${head}']`).waitFor();
    await page.keyboard.press("Home");
    await page.locator("[data-moment='1']").waitFor();
    await page.getByRole("button", { name: "16×" }).click();
    await page.locator("body").click({ position: { x: 2, y: 2 } });
    await page.keyboard.press("Space");
    await page.locator("[data-playing=true]").waitFor();
    await page.locator(`[data-moment='${head}']`).waitFor();
    await page.locator("[data-playing=false]").waitFor();
    await page.goto(`${omoi.url}/tasks/${task.key}/replay#e1:999999`);
    await page.getByText(`There is no event 999,999: attempt 1 has the events 1 to ${head}.`).waitFor();
    await page.goto(`${omoi.url}/tasks/${task.key}/replay#e7:1`);
    await page.getByText("There is no attempt 7.").waitFor();
  });
});

test("22: two attempts are compared: figures as the API says, and their files", async () => {
  const name = "<img src=x onerror=alert(1)>.txt";
  const task = await omoi.task("Twice", [
    { bash: `if test -f one.txt; then echo two > two.txt; printf "two\\r\\n" > crlf.txt; echo later > both.txt; else echo one > one.txt; printf "one\\r\\n" > crlf.txt; echo first > both.txt; echo same > same.txt; echo '${name}' > '${name}'; fi` },
    { usage: { input_tokens: 1000, output_tokens: 100, cost_usd: 0.02 } }, { sleep_s: 2 }, { bash: "test -f two.txt && sleep 1; echo ok" }, { fail: "on <b>purpose</b>" },
  ], { max_retries: 0 });
  await ended(task);
  await omoi.call("POST", `/api/v1/tasks/${task.id}/retry`, {});
  const twice = await omoi.until(task, (t) => t.attempts.length === 2 && t.completed_at !== null && t.attempts.every((x) => x.sandbox_state === "gone")), [a, b] = [twice.attempts[0]!, twice.attempts[1]!];
  await on(`/tasks/${task.key}`, async ({ page }) => {
    await page.getByRole("link", { name: "Compare" }).click();
    await page.waitForURL(/\/compare\?/);
    expect(new URL(page.url()).searchParams.get("b")).toBe(`${task.key}:2`);
    const figure = async (word: string): Promise<string[]> => page.locator(`[data-figure="${word}"] td`).allTextContents();
    await expect.poll(() => figure("Why it started")).toEqual([a.kind, b.kind]);
    expect(await page.locator("[data-figure='End']").count(), "equal rows are hidden").toBe(0);
    await page.getByRole("link", { name: "Show what is equal" }).click();
    await expect.poll(() => figure("End")).toEqual([a, b].map((x) => `${x.outcome}: ${x.failure_class.replaceAll("_", " ")}`));
    expect(await figure("Events")).toEqual([String(a.events), String(b.events)]);
    expect(await figure("Cost")).toEqual([a, b].map((x) => `${x.cost_usd!.toFixed(2)} USD`));
    expect(await figure("Reason")).toEqual([a.reason, b.reason]);
    const events = await omoi.events(task), of = (n: number, type: string): string => String(events.filter((e) => e.attempt === n && e.event_type === type).length);
    await expect.poll(() => figure("Tool calls")).toEqual([of(1, "agent.tool_use"), of(2, "agent.tool_use")]);
    const relation = (path: string): Promise<string | null> => page.locator(`[data-path="${path}"]`).getAttribute("data-relation");
    expect([await relation("both.txt"), await relation("two.txt"), await relation("same.txt"), await relation(name)]).toEqual(["different", "only b", "same", "same"]);
    await page.locator("[data-path='both.txt'] button").click();
    await expect.poll(() => page.locator("[data-path='both.txt'] .dl code").allTextContents()).toEqual(["-removed first", "+added later"]);
    await page.locator("[data-path='crlf.txt'] button").click(); // all of its lines end in CRLF, which needs no mark
    await expect.poll(() => page.locator("[data-path='crlf.txt'] .dl code").allTextContents()).toEqual(["-removed one", "+added two"]);
    expect(await page.locator("img").count()).toBe(0);
    expect(await page.locator("b", { hasText: "purpose" }).count()).toBe(0);
    await page.getByRole("link", { name: "Differences only" }).click();
    await page.locator("[data-path='same.txt']").waitFor({ state: "detached" });
  });
  await on(`/compare?a=${task.key}:1&b=${task.key}:9`, async ({ page }) => {
    await page.getByText(`${task.key} has no attempt 9.`).waitFor();
  });
}, 120_000);

test("22: a diff of 7,200 lines in a comparison mounts the lines in view, and reaches the last one", async () => {
  const task = await omoi.task("Long", [{ bash: "if test -f first.txt; then seq 1 7200 > long.txt; else echo x > first.txt; fi" }, { fail: "on purpose" }], { max_retries: 0 });
  await ended(task);
  await omoi.call("POST", `/api/v1/tasks/${task.id}/retry`, {});
  await omoi.until(task, (t) => t.attempts.length === 2 && t.completed_at !== null && t.attempts.every((x) => x.sandbox_state === "gone"));
  await on(`/compare?a=${task.key}:1&b=${task.key}:2`, async ({ page }) => {
    await page.locator("[data-path='long.txt'] button").click();
    const diff = page.locator(".file-diff"), lines = (): Promise<number> => diff.getAttribute("data-lines").then(Number), feed = diff.locator(".feed");
    const end = (): Promise<void> => feed.evaluate((e) => { e.scrollTop = e.scrollHeight; });
    await expect.poll(lines).toBeGreaterThan(1900);
    for (let held = await lines(); held < 7200; held = await lines()) {
      await end();
      await diff.getByRole("button", { name: "Show more lines" }).click();
      await expect.poll(lines).toBeGreaterThan(held);
      expect(await diff.locator(".dl").count()).toBeLessThan(100);
    }
    await end();
    await diff.locator(".dl", { hasText: "added 7200" }).waitFor();
    expect(await diff.locator(".dl").count()).toBeLessThan(100);
  });
}, 120_000);
