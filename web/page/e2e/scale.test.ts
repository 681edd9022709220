import { afterEach, expect, test } from "vitest";
import type { Page } from "playwright-core";

import { fact, on, omoi, openStreams, see, serve, sleepForever } from "./omoi";

serve();
afterEach(() => omoi.cancelAll());

const rows = (page: Page) => page.$$eval(".feed article", (all) => all.map((r) => ({ n: Number(r.getAttribute("aria-posinset")), top: r.getBoundingClientRect().top, bottom: r.getBoundingClientRect().bottom })));

/** The first row in view and where it is. */
const place = (page: Page) => page.$eval(".feed", (box) => {
  const top = box.getBoundingClientRect().top;
  const row = [...box.querySelectorAll("article")].find((r) => r.getBoundingClientRect().bottom > top + 1)!;
  return { n: Number(row.getAttribute("aria-posinset")), offset: Math.round(row.getBoundingClientRect().top - top) };
});

test("6: 100,000 events are complete, within the budgets, and every place is reached", async () => {
  const task = await omoi.task("Flood", [{ flood: { events: 100_000, bytes: 100 } }, { say: "The flood is over." }, sleepForever]);
  await omoi.until(task, (t) => (t.attempts.at(-1)?.events ?? 0) > 100_000);
  await on(`/tasks/${task.key}`, async ({ page }) => {
    const asked: string[] = [];
    page.on("request", (r) => /event-range|\/events/.test(r.url()) && asked.push(r.url()));
    await page.getByText("The flood is over.").waitFor();
    await fact(page, "complete", "true");
    expect(await page.textContent(".timeline-foot")).toMatch(/^1\.\.100,\d\d\d complete/);
    const ranges = asked.length;
    expect(ranges, "ranges to show the end").toBeLessThanOrEqual(1);
    for (const n of [50_000, 1, 99_000, 25_000]) {
      await page.getByLabel("Go to event number or time").fill(String(n));
      await page.keyboard.press("Enter");
      await page.locator(`[id="e1:${n}"]`).waitFor();
      expect((await rows(page)).some((r) => r.n === n)).toBe(true);
    }
    expect(asked.length - ranges, "ranges of four places").toBeLessThanOrEqual(12);
    expect(await page.evaluate(() => document.querySelectorAll("*").length)).toBeLessThan(800);
    const cdp = await page.context().newCDPSession(page);
    await cdp.send("HeapProfiler.collectGarbage");
    expect((await cdp.send("Runtime.getHeapUsage")).usedSize / 2 ** 20, "MiB of heap").toBeLessThan(20);
    await page.keyboard.press("Escape");
    await page.locator(".feed").focus();
    await page.keyboard.press("G");
    await page.getByText("The flood is over.").waitFor();
  });
});

test("8: width, theme and font size keep the place, without overlaps and requests", async () => {
  const task = await omoi.task("Texts", [...Array.from({ length: 60 }, (_, n) => [{ say: `Text ${n} ${"that is long enough to wrap ".repeat(n % 9)}` }, { bash: { command: `echo ${n}` } }]).flat(), sleepForever]);
  await omoi.until(task, (t) => (t.attempts.at(-1)?.events ?? 0) > 240);
  await on(`/tasks/${task.key}`, async ({ page }) => {
    await fact(page, "complete", "true");
    await page.getByLabel("Go to event number or time").fill("120");
    await page.keyboard.press("Enter");
    await page.locator(".event.chosen").waitFor();
    await page.locator(".feed").hover();
    await page.mouse.wheel(0, -60);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const before = await place(page), asked: string[] = [];
    page.on("request", (r) => /event|stream/.test(r.url()) && asked.push(r.url()));
    const changes: (() => Promise<unknown>)[] = [
      () => page.setViewportSize({ width: 420, height: 800 }), () => page.setViewportSize({ width: 1440, height: 900 }),
      () => page.evaluate(() => (document.documentElement.style.fontSize = "20px")), () => page.evaluate(() => (document.documentElement.style.fontSize = "")),
      () => page.emulateMedia({ colorScheme: "dark" }), () => page.setViewportSize({ width: 1280, height: 800 }),
    ];
    for (const change of changes) {
      await change();
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      expect((await place(page)).n).toBe(before.n);
      const shown = await rows(page);
      shown.slice(1).forEach((r, n) => expect(r.top).toBeGreaterThanOrEqual(shown[n]!.bottom - 0.6));
    }
    expect(await place(page)).toEqual(before);
    expect(asked).toEqual([]);
  });
});

test("17: the seventh tab loads, and hidden tabs hold no connection", async () => {
  const task = await omoi.task("Tabs", [{ say: "Here." }, sleepForever]);
  await omoi.until(task, (t) => t.status === "running");
  const open = () => openStreams("task");
  await on(`/tasks/${task.key}`, async ({ page }) => {
    const context = page.context();
    let last = page;
    for (let n = 0; n < 6; n++) {
      await last.getByText("Here.").waitFor();
      await last.clock.install();
      await see(last, "hidden");
      await last.clock.fastForward(11_000);
      await fact(last, "conn", "hidden");
      last = await context.newPage();
      await last.goto(`${omoi.url}/tasks/${task.key}`);
    }
    await last.getByText("Here.").waitFor();
    await fact(last, "conn", "live");
    await expect.poll(open, { timeout: 20_000 }).toBe(1);
    await see(page, "visible");
    await page.clock.runFor(1000);
    await fact(page, "conn", "live");
    await expect.poll(open, { timeout: 20_000 }).toBe(2);
  });
});

test("an opened row stays where it is, and a filter returns to it; buttons go from error to error", async () => {
  const say = (word: string, times: number) => Array.from({ length: times }, (_, n) => ({ say: `${word} ${n}` }));
  const task = await omoi.task("Errors", [...say("before", 40), { bash: { command: "echo broken; exit 3" } }, ...say("after", 60), { bash: { command: "echo fine" } }, sleepForever]);
  await omoi.until(task, (t) => (t.attempts.at(-1)?.events ?? 0) > 104);
  await on(`/tasks/${task.key}`, async ({ page }) => {
    await fact(page, "complete", "true");
    const topOf = async (text: string) => (await page.locator(".event", { hasText: text }).first().boundingBox())!.y;
    const fine = page.locator(".event", { hasText: "echo fine" }).first(), was = await topOf("echo fine");
    await fine.locator(".fold").first().click();
    await expect.poll(() => fine.locator(".more").count()).toBe(1);
    expect(Math.abs(await topOf("echo fine") - was)).toBeLessThan(2);
    await page.getByRole("button", { name: "Previous error" }).click();
    const broken = page.locator(".event.chosen", { hasText: "echo broken" });
    await broken.waitFor();
    await page.getByText("after 0", { exact: true }).waitFor();
    await page.getByLabel("Show").selectOption({ label: "Errors" });
    await expect.poll(async () => (await rows(page)).length).toBe(1);
    await page.getByLabel("Show").selectOption({ label: "All rows" });
    await page.getByText("after 0", { exact: true }).waitFor();
    await expect(broken.isVisible()).resolves.toBe(true);
    await page.locator(".feed").hover();
    await page.mouse.wheel(0, -600);
    await page.getByText("before 10", { exact: true }).waitFor();
    const kept = await place(page);
    await page.getByLabel("Show").selectOption({ label: "Every event, with heartbeats" });
    await page.getByText("before 10", { exact: true }).waitFor();
    expect((await place(page)).n, "a reader who scrolled stays there").toBe(kept.n);
  });
});

test("search finds events that the page does not hold; a filter and an error are reached by keys", async () => {
  const task = await omoi.task("Search", [{ say: "A needle here." }, { bash: { command: "exit 3" } }, { flood: { events: 5000, bytes: 50 } }, { say: "Another NEEDLE there." }, sleepForever]);
  await omoi.until(task, (t) => (t.attempts.at(-1)?.events ?? 0) > 5005);
  await on(`/tasks/${task.key}`, async ({ page }) => {
    await fact(page, "complete", "true");
    await page.getByText("Another NEEDLE there.").waitFor();
    await page.locator(".feed").focus();
    await page.keyboard.press("f");
    await page.keyboard.type("needle");
    await page.keyboard.press("Enter");
    await page.getByText("A needle here.").waitFor();
    const place = page.locator("form[role=search] [role=status]");
    await expect.poll(() => place.textContent()).toMatch(/^1 \/ 2$/);
    await page.locator(".feed").focus();
    await page.keyboard.press("n");
    await expect.poll(() => place.textContent()).toMatch(/^2 \/ 2$/);
    await page.getByText("Another NEEDLE there.").waitFor();
    await page.keyboard.press("N");
    await page.locator(".event.chosen", { hasText: "A needle here." }).waitFor();
    expect(new URL(page.url()).searchParams.get("find")).toBe("needle");
    await page.keyboard.press("e");
    await page.locator(".event.chosen", { hasText: "exit 3" }).waitFor();
    await page.getByLabel("Show").selectOption({ label: "Bash" });
    await expect.poll(async () => (await rows(page)).length).toBe(2); // the failed command, and the one that sleeps
    await page.getByLabel("Search the events").fill("no such text");
    await page.keyboard.press("Enter");
    await expect.poll(() => place.textContent()).toBe("no event contains it");
  });
  await on("/tasks", async ({ page }) => {
    let found: () => void;
    const searched = new Promise<void>((resolve) => { found = resolve; });
    page.on("requestfinished", (r) => r.url().includes("/event-search") && found());
    await page.route(/\/outline\b/, async (route) => { await searched; await route.continue(); }); // that a call and its result are one row becomes known after the search
    await page.goto(`${omoi.url}/tasks/${task.key}?find=${encodeURIComponent("exit 3")}`);
    await expect.poll(() => page.locator("form[role=search] [role=status]").textContent()).toBe("1 / 1");
  });
  await on("/tasks", async ({ page }) => {
    const asked: string[] = [];
    page.on("request", (r) => r.url().includes("/event-range") && asked.push(r.url()));
    await page.goto(`${omoi.url}/tasks/${task.key}?tab=output`);
    await page.locator(".command", { hasText: "exit 3" }).waitFor();
    await fact(page, "complete", "true");
    expect(asked.length, "ranges for two commands of 5,000 events").toBeLessThanOrEqual(3);
  });
});
