import { expect, test } from "vitest";

import { Cut, fact, on, omoi, openStreams, see, serve, serverGone, sleepForever, type Task } from "./omoi";
import type { Page } from "playwright-core";

serve();

const numbers = (page: Page) => page.$$eval(".feed article", (rows) => rows.map((r) => Number(r.getAttribute("aria-posinset"))));

/** The first row in view, and where it is. */
const placeOf = (page: Page) => page.evaluate(() => {
  const top = document.querySelector(".feed")?.getBoundingClientRect().top ?? 0;
  const row = [...document.querySelectorAll(".feed article")].find((r) => r.getBoundingClientRect().bottom > top + 1);
  return row === undefined ? "" : `${row.getAttribute("aria-posinset")} ${Math.round(row.getBoundingClientRect().top - top)}`;
});

/** Waits until the timeline has come to rest. */
const rested = (page: Page) => page.waitForFunction(() => {
  const kept = window as unknown as { was?: number; same?: number }, at = document.querySelector(".feed")!.scrollTop;
  kept.same = kept.was === at ? (kept.same ?? 0) + 1 : 0;
  kept.was = at;
  return kept.same >= 10;
});

/** Waits until the page holds all events that the API has of a task's newest attempt, each once. */
async function complete(page: Page, task: { id: string }): Promise<void> {
  await expect.poll(() => page.evaluate(async (id) => { // waitForFunction takes the promise of an async function for true
    const t = await (await fetch(`/api/v1/tasks/${id}`)).json();
    const root = document.documentElement.dataset;
    return root["complete"] === "true" && Number(root["head"]) >= t.attempts.at(-1).events;
  }, task.id), { timeout: 30_000 }).toBe(true);
  expect(await page.evaluate(() => document.documentElement.dataset["doubles"])).toBe("0");
  expect(await page.textContent(".timeline-foot")).toMatch(/^1\.\.[\d,]+ complete/);
}

test("1: the demo task is seen from accepted to done by a page that was opened before it existed", async () => {
  await on("/tasks", async ({ page }) => {
    await page.evaluate(() => {
      const kept = window as unknown as { seen: string[] }, look = (): void => {
        const word = document.querySelector(".task-title .status")?.textContent;
        if (word != null && kept.seen.at(-1) !== word) {
          kept.seen.push(word);
        }
      };
      kept.seen = [];
      new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    await page.getByRole("button", { name: "Run the demo task" }).click();
    await page.locator(".task-title .status", { hasText: "Done" }).waitFor();
    await fact(page, "conn", "ended");
    const { items: [made] } = await omoi.call<{ items: Task[] }>("GET", "/api/v1/tasks"), task = await omoi.read(made!);
    const history = Object.entries({ Waiting: task.created_at, Starting: task.assigned_at, Running: task.started_at, Done: task.completed_at }).filter(([, at]) => at !== null).map(([word]) => word);
    const seen = await page.evaluate(() => (window as unknown as { seen: string[] }).seen);
    expect(seen.at(-1)).toBe("Done");
    expect(history.filter((word) => seen.includes(word)), "statuses of the API, each at most once, in its order").toEqual(seen); // one that lasts for less than a frame of the stream is not shown
    await complete(page, task);
    const shown = await page.$$eval(".feed .label", (all) => all.map((e) => e.textContent));
    expect(shown.filter((l) => l === "Agent").length).toBe((await omoi.events(task)).filter((e) => e.event_type === "agent.message").length);
    expect(shown.at(-1)).toBe("Agent ended");
  });
});

test("1: a cancelled task is complete with the last events of its agent", async () => {
  const task = await omoi.task("Cancel", [{ say: "I work." }, sleepForever]);
  await on(`/tasks/${task.key}`, async ({ page }) => {
    await page.getByText("I work.").waitFor();
    await page.locator(".task-title .status", { hasText: "Running" }).waitFor();
    await omoi.call("POST", `/api/v1/tasks/${task.id}/cancel`, {});
    await page.locator(".task-title .status", { hasText: "Cancelled" }).waitFor();
    await fact(page, "conn", "ended");
    await complete(page, task);
    await page.getByText("ended by the cancel:").waitFor();
    await page.getByText("omoi asked it to stop.").waitFor();
  });
});

test("2: the server is killed twice in mid-stream, and nothing is lost or doubled", async () => {
  const task = await omoi.task("Count", [...Array.from({ length: 60 }, (_, n) => [{ say: `line ${n}` }, { sleep_s: 0.4 }]).flat(), { complete: {} }]);
  await on(`/tasks/${task.key}`, async ({ page, allow }) => {
    allow(serverGone);
    await page.evaluate(() => Object.assign(window, { loadedOnce: true }));
    for (let times = 0; times < 2; times++) {
      await page.waitForFunction((n) => Number(document.documentElement.dataset["head"]) > n, 8 + 10 * times);
      await omoi.kill();
      await fact(page, "conn", "lost");
      await omoi.start();
      await fact(page, "conn", "live");
    }
    await omoi.until(task, (t) => t.completed_at !== null);
    await fact(page, "conn", "ended");
    await complete(page, task);
    expect(await page.evaluate(() => "loadedOnce" in window), "no reload").toBe(true);
  });
});

test("3: the network is cut in mid-frame, and falls silent for a minute", async () => {
  const task = await omoi.task("Flood", [{ flood: { events: 300, bytes: 2000 } }, { sleep_s: 1 }, { flood: { events: 300, bytes: 2000 } }, sleepForever]);
  const cut = new Cut(), base = await cut.start();
  try {
    await on(`/tasks/${task.key}`, async ({ page, allow }) => {
      allow(serverGone);
      await page.clock.install();
      await page.reload();
      await page.evaluate(() => Object.assign(window, { loadedOnce: true }));
      for (let times = 0; times < 5; times++) {
        await page.waitForTimeout(150); // anywhere in the bytes
        cut.cut();
      }
      await omoi.until(task, (t) => (t.attempts.at(-1)?.events ?? 0) > 600);
      await complete(page, task);
      await fact(page, "conn", "live");
      await page.clock.pauseAt(await page.evaluate(() => Date.now() + 1000));
      cut.silent = true;
      await page.clock.fastForward(46_000);
      await page.clock.runFor(150); // drawn, but not yet connected again
      await fact(page, "conn", "lost");
      await page.clock.runFor(6000);
      await page.locator(".banner", { hasText: "No connection." }).waitFor();
      cut.silent = false;
      cut.cut(); // what was swallowed is lost
      await page.clock.resume();
      await fact(page, "conn", "live");
      await expect.poll(() => page.locator(".banner").count(), { timeout: 20_000 }).toBe(0);
      await complete(page, task);
      expect(await page.evaluate(() => "loadedOnce" in window), "no reload").toBe(true);
    }, { base });
  } finally {
    cut.stop();
  }
});

test("4: a reload shows the same rows, place, tab and draft", async () => {
  const task = await omoi.task("Wait", [{ flood: { events: 100, bytes: 80 } }, { say: "One." }, { think: "Two." }, { bash: { command: "echo three" } }, sleepForever]);
  await on(`/tasks/${task.key}`, async ({ page }) => {
    await page.getByText("sleep 600").waitFor();
    await page.fill(".composer textarea", "half a thought");
    const texts = () => page.$$eval(".feed article", (rows) => rows.map((r) => [r.getAttribute("aria-posinset"), r.querySelector(".main")?.textContent] as const));
    const before = new Map(await texts());
    await page.reload();
    await page.getByText("sleep 600").waitFor();
    const both = (await texts()).filter(([n]) => before.has(n));
    expect(both.length).toBeGreaterThan(3);
    expect(both).toEqual(both.map(([n]) => [n, before.get(n)]));
    expect(await page.inputValue(".composer textarea")).toBe("half a thought");
    await page.keyboard.press("Escape");
    await page.keyboard.press("#");
    await page.locator(".number").first().click();
    await page.locator(".event.chosen").waitFor();
    await rested(page);
    const place = await placeOf(page);
    await page.reload();
    await expect.poll(() => placeOf(page)).toBe(place);
    await page.locator(".feed").hover();
    await page.mouse.wheel(0, 310);
    await rested(page);
    const read = await placeOf(page);
    expect(read).not.toBe(place);
    await page.reload();
    await page.locator(".feed article").first().waitFor();
    await expect.poll(() => placeOf(page), { message: "the place of a reader who scrolled" }).toBe(read);
    await page.getByRole("link", { name: "Receipts" }).click();
    await page.getByText("Agent started").waitFor();
    await page.reload();
    await page.getByText("Agent started").waitFor();
    await page.goBack();
    await page.locator(".event.chosen").waitFor();
  });
});

test("5: a hidden page has no stream, and comes back by its cursor", async () => {
  const task = await omoi.task("Talk", [{ flood: { events: 20, bytes: 10 } }, { sleep_s: 3 }, { flood: { events: 200, bytes: 10 } }, sleepForever]);
  await on(`/tasks/${task.key}`, async ({ page }) => {
    const streams: string[] = [];
    page.on("request", (r) => r.url().includes("/stream") && streams.push(new URL(r.url()).searchParams.get("after")!));
    await page.clock.install();
    await page.waitForFunction(() => Number(document.documentElement.dataset["head"]) > 10);
    await fact(page, "complete", "true"); // the events have arrived, not only their number
    await see(page, "hidden");
    await page.clock.fastForward(31_000);
    await fact(page, "conn", "hidden");
    await expect.poll(() => openStreams("task"), { timeout: 20_000 }).toBe(0);
    const held = await page.evaluate(() => document.documentElement.dataset["head"]);
    await omoi.until(task, (t) => (t.attempts.at(-1)?.events ?? 0) > 220);
    expect(await page.evaluate(() => document.documentElement.dataset["head"]), "nothing arrives while hidden").toBe(held);
    await page.evaluate(() => {
      const kept = window as unknown as { heads: number[] }, root = document.documentElement;
      kept.heads = [];
      new MutationObserver(() => kept.heads.push(Number(root.dataset["head"]))).observe(root, { attributes: true, attributeFilter: ["data-head"] });
    });
    await see(page, "visible");
    await page.clock.runFor(1000);
    await fact(page, "conn", "live");
    await complete(page, task);
    expect(streams.at(-1)).toMatch(/^1:\d+$/);
    expect(Number(streams.at(-1)!.split(":")[1])).toBeLessThanOrEqual(Number(held));
    expect(Number(streams.at(-1)!.split(":")[1])).toBeGreaterThan(0);
    const heads = await page.evaluate(([was]) => (window as unknown as { heads: number[] }).heads.filter((n) => n !== was), [Number(held)]);
    expect(heads[0], "the gap is not played").toBeGreaterThan(220);
  });
});

test("7: reading up while live keeps the row in its place; G follows again", async () => {
  const task = await omoi.task("Much", [{ flood: { events: 400, bytes: 80 } }, { wait_message: { timeout_s: 300 } }, ...Array.from({ length: 40 }, (_, n) => [{ say: `later ${n}` }, { sleep_s: 0.05 }]).flat(), sleepForever]);
  await on(`/tasks/${task.key}`, async ({ page }) => {
    await page.waitForFunction(() => Number(document.documentElement.dataset["head"]) > 400);
    const feed = page.locator(".feed");
    await feed.hover();
    await page.mouse.wheel(0, -3000);
    await page.locator(".timeline[data-follow=false]").waitFor();
    await rested(page);
    const before = await placeOf(page), head = await page.evaluate(() => Number(document.documentElement.dataset["head"]));
    const sandbox = (await omoi.read(task)).sandbox_id!;
    await omoi.call("POST", `/api/v1/sandboxes/${sandbox}/messages`, { content: "go on" });
    await page.waitForFunction((n) => Number(document.documentElement.dataset["head"]) > n + 40, head);
    expect(await placeOf(page)).toBe(before);
    const [pill, now] = await page.evaluate(() => [document.querySelector(".pill")!.textContent, Number(document.documentElement.dataset["head"])] as const);
    expect(pill).toMatch(/^\d+ new/);
    expect(parseInt(pill!), "counted since the reader left the end").toBeGreaterThanOrEqual(now - head);
    expect(parseInt(pill!)).toBeLessThan(now - 400);
    await feed.focus(); // the box of the answer had the focus
    await page.keyboard.press("G");
    await page.locator(".timeline[data-follow=true]").waitFor();
    const last = await page.evaluate(() => Number(document.documentElement.dataset["head"]));
    await page.waitForFunction((n) => [...document.querySelectorAll(".feed article")].some((r) => Number(r.getAttribute("aria-posinset")) > n - 30), last);
    expect((await numbers(page)).length).toBeLessThan(120);
  });
});

const row = (page: Page, title: string) => page.locator(".task-row", { hasText: title });

/** Ends all tasks, so that nothing changes by itself. */
async function quiet(): Promise<void> {
  await omoi.cancelAll();
  const { items } = await omoi.call<{ items: Task[] }>("GET", "/api/v1/tasks?limit=500");
  await Promise.all(items.map((t) => omoi.until(t, (now) => now.completed_at !== null)));
}

test("the list shows what changes by its stream, asks for nothing else, and follows a server that was killed", async () => {
  await omoi.until(await omoi.task("Before", [{ complete: {} }]), (t) => t.completed_at !== null);
  await quiet();
  await on("/tasks", async ({ page, allow }) => {
    allow(serverGone);
    await page.clock.install();
    await page.reload();
    await fact(page, "conn", "live");
    await row(page, "Before").waitFor();
    await page.clock.runFor(2000); // the list was read after the first frame
    const asked: string[] = [];
    page.on("request", (r) => /\/api\/v1\/tasks(\?|\/)/.test(r.url()) && asked.push(r.url()));
    await page.clock.runFor(40_000); // a stream that is silent for longer connects again
    expect(asked.length, "a timer of two seconds asks 20 times").toBeLessThan(10);
    await omoi.task("First of the list", [{ say: "I work." }, sleepForever]);
    await row(page, "First of the list").locator(".status", { hasText: "Running" }).waitFor();
    await omoi.kill();
    await fact(page, "conn", "lost");
    await omoi.start();
    const second = await omoi.task("Second of the list", [{ complete: {} }]);
    await row(page, "Second of the list").locator(".status", { hasText: "Done" }).waitFor();
    await fact(page, "conn", "live");
    await see(page, "hidden");
    await page.clock.runFor(11_000);
    await fact(page, "conn", "hidden");
    await omoi.call("PATCH", `/api/v1/tasks/${second.id}`, { title: "Renamed meanwhile" });
    await see(page, "visible");
    await row(page, "Renamed meanwhile").waitFor();
  });
});

test("the list is read at most once a second, and its rows wait while a reader points at them", async () => {
  const task = await omoi.task("Often renamed", [sleepForever]);
  await on("/tasks", async ({ page }) => {
    await row(page, "Often renamed").locator(".status", { hasText: "Running" }).waitFor();
    await fact(page, "conn", "live");
    for (let n = 0; n < 60; n++) {
      await omoi.call("PATCH", `/api/v1/tasks/${task.id}`, { title: `Often renamed ${n}` });
    }
    await row(page, "Often renamed 59").waitFor();
    const read = await page.evaluate(() => performance.getEntriesByType("resource").filter((e) => e.name.includes("/tasks/counts")).map((e) => e.startTime));
    expect(read.slice(2).filter((at, n) => at - read[n + 1]! < 990)).toEqual([]); // the first two are of the page and of its stream
    await row(page, "Often renamed 59").hover();
    await omoi.task("Newest of the list", [sleepForever]);
    const notice = page.getByRole("button", { name: /^\d+ rows? changed place · show$/ });
    await notice.waitFor();
    expect(await row(page, "Newest of the list").count()).toBe(0);
    await notice.click();
    await row(page, "Newest of the list").waitFor();
  });
});
