import { execFileSync } from "node:child_process";
import { cpSync } from "node:fs";

import type { Schemas } from "@omoi/client";
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";

import { late, on, Omoi, serve, sleepForever, type Task, type Watched } from "./omoi";

// Deletions at the emulator stay unverified for an hour: the second check is due that late.
const omoi = new Omoi("", { OMOI_DAYTONA_MAX_CREATE_DELAY: "1h", OMOI_REAPER_UNVERIFIED_ALERT_AFTER: "1s", OMOI_REAPER_INTERVAL: "2s" }, ["--with-daytona-emulator"]);
serve(omoi);

const fleet = (search: string, act: (at: Watched) => Promise<void>, options: object = {}) =>
  on(`/fleet${search}`, (at) => (at.allow(late), act(at)), { base: omoi.url, ...options });
const evil = `<img src=x onerror=alert(1)><script>alert(2)</script>`;
const hidden = `${evil} \u202Egnp.exe`; // where the server takes it

let running: Task, second: Task, third: Task, looping: Task;

/** A repository of its own, and so a project of its own. */
function repo(name: string): string {
  cpSync(omoi.repo, `${omoi.home}/${name}`, { recursive: true });
  return `${omoi.home}/${name}`;
}

beforeAll(async () => {
  while (!(await omoi.call("POST", "/api/v1/schedules/guardian/pause", {}).then(() => true, () => false))) {
    await new Promise((resolve) => setTimeout(resolve, 200)); // no worker has created the schedule
  }
  running = await omoi.task("Runs", [sleepForever]);
  await omoi.call("PATCH", `/api/v1/projects/${running.project_id}`, { max_concurrent_tasks: 1 });
  await omoi.until(running, (t) => t.status === "running");
  [second, third] = [await omoi.task(`Second ${evil}`, [sleepForever]), await omoi.task("Third", [sleepForever], { description: evil })];
  await omoi.until(third, (t) => t.queue_position === 2);
  looping = await loop();
}, 90_000);

/** An agent that connects itself, never reads its messages, and repeats one call. */
async function loop(): Promise<Task> {
  const task = await omoi.task(`Loops ${evil}`, [], { agent: "external", repo: repo("loops"), execution_config: {} });
  await omoi.call("PATCH", `/api/v1/projects/${task.project_id}`, { auto_steering: true });
  const { sandbox_id } = await omoi.until(task, (t) => t.sandbox_id !== null && t.status !== "pending");
  const post = (event_type: string, event_data: object) => omoi.call("POST", `/api/v1/sandboxes/${sandbox_id}/events`, { event_type, event_data, source: "agent" });
  await post("agent.started", {});
  for (let n = 0; n < 20; n++) {
    await post("agent.tool_use", { tool: "Bash", tool_use_id: `c${n}`, input: { command: `make ${hidden}` } });
    await post("agent.tool_result", { tool: "Bash", tool_use_id: `c${n}`, result: "no rule" });
  }
  await omoi.call("POST", `/api/v1/monitor/intelligent/analyze/${sandbox_id}?force=true`);
  return omoi.read(task);
}

const figure = (page: Page, word: string) => page.locator(`[data-figure="${word}"] strong`);
const row = (page: Page, text: string) => page.locator("tbody tr", { hasText: text });

test("slots, queue with position and reason, and what would change it", async () => {
  await fleet("", async ({ page }) => {
    await row(page, running.key.split("-")[0]!).getByText("1 of 1").waitFor();
    const capacity = await omoi.call<Schemas["Capacity"]>("GET", "/api/v1/capacity");
    await expect.poll(() => figure(page, "Slots").textContent()).toBe(`${capacity.running_tasks}${capacity.concurrency_limit === null ? "" : ` of ${capacity.concurrency_limit}`}`);
    expect(await figure(page, "Queue").textContent()).toBe(String(capacity.queued_tasks));
    await row(page, "local").getByText("online").waitFor();
    await page.getByRole("link", { name: "Queue", exact: true }).click();
    for (const [task, position] of [[second, "1"], [third, "2"]] as const) {
      const shown = row(page, task.key);
      await shown.waitFor();
      expect(await shown.locator("[data-head=Position]").textContent()).toBe(position);
      expect(await shown.textContent()).toContain((await omoi.read(task)).why);
    }
    await row(page, third.key).getByText("What would change this").click();
    const key = third.key.split("-")[0]!;
    await row(page, third.key).getByText("or when you raise the Concurrency limit (now 1).").waitFor();
    expect(new URL(page.url()).search).toBe("?tab=queue");
    await page.goto(`${omoi.url}/tasks/${third.key}`); // the page of the task says the same
    await page.locator("[data-change]", { hasText: "or when you raise the Concurrency limit (now 1)." }).getByRole("link").click();
    expect(new URL(page.url()).search).toBe(`?tab=projects&project=${key}`);
    await page.getByLabel("Concurrency limit").waitFor();
    await page.goto(`${omoi.url}/fleet`);
    await page.getByRole("link", { name: `Edit ${key}`, exact: true }).click();
    expect(await page.getByLabel("Concurrency limit").inputValue()).toBe("1");
    await page.goto(`${omoi.url}/tasks`);
    await expect.poll(() => page.locator(".task-row", { hasText: key }).filter({ hasText: "Waiting, " }).evaluateAll((all) => all.map((e) => e.querySelector(".status")!.textContent))).toEqual(["Waiting, 1st", "Waiting, 2nd"]);
  });
});

test("pause of a project says what it does, and shows the answer", async () => {
  await fleet("?tab=capacity", async ({ page }) => {
    const project = row(page, running.key.split("-")[0]!).filter({ hasText: "1 of 1" });
    await project.getByRole("button", { name: /^Pause…/ }).click();
    expect(await page.getByRole("dialog").textContent()).toContain("Running tasks continue, unless you suspend them too.");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Go back");
    await page.getByRole("button", { name: "Pause the project" }).click();
    await page.locator("[data-receipt=done]", { hasText: "is paused" }).waitFor();
    await project.locator("[data-mark=paused]").waitFor();
    await project.getByRole("button", { name: /^Resume…/ }).click();
    await page.getByRole("button", { name: "Resume the project" }).click();
    await project.locator("[data-mark='admits tasks']").waitFor();
  });
});

test("mark as lost names its consequences, and shows the server's refusal while the host sends heartbeats", async () => {
  await fleet("", async ({ page, allow }) => {
    allow(/409/);
    await page.route("**/api/v1/hosts?*", async (route) => {
      const answer = await route.fetch(), body = (await answer.json()) as Schemas["HostList"];
      await route.fulfill({ response: answer, json: { ...body, items: body.items.map((h) => ({ ...h, online: false, name: hidden })) } });
    });
    await page.locator("[data-mark=offline]").waitFor();
    await page.getByRole("button", { name: /^Mark as lost…/ }).click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.textContent()).toContain("Work in them that was not saved is lost.");
    await dialog.getByRole("button", { name: "Mark as lost", exact: true }).click();
    const refused = page.locator("[data-receipt=refused]");
    await refused.waitFor();
    expect(await refused.textContent()).toMatch(/rejected: .+/);
    expect(await page.locator("main img, main script").count()).toBe(0);
    expect(await page.textContent("main")).not.toContain("\u202e"); // shown as a mark
    await page.unrouteAll({ behavior: "wait" });
  });
});

test("13: a sandbox whose deletion is not verified is counted, listed first and never green", async () => {
  const task = await omoi.task("In a cloud", [{ complete: {} }], { provider: "daytona", repo: repo("cloud") });
  const { sandbox_id } = await omoi.until(task, (t) => t.completed_at !== null);
  await fleet("?tab=sandboxes", async ({ page }) => {
    expect(await page.locator(".chips .chip").first().textContent()).toMatch(/^Deletion not verified/);
    const box = page.locator("tbody tr", { has: page.locator(`[title="${sandbox_id}"]`) });
    await box.getByText(/second check is due/).waitFor({ timeout: 60_000 });
    await box.locator("[data-mark='not verified']").waitFor();
    expect(await page.locator(".s-done").count()).toBe(0);
    await expect.poll(() => figure(page, "Deletion not verified").textContent()).toBe("1");
    expect(await page.locator(".chips .count").first().textContent()).toBe("1");
    // the alert of the server, with its next step
    const alert = page.locator(".notice.bad");
    await alert.waitFor({ timeout: 60_000 });
    const ready = await omoi.call<Schemas["Readiness"]>("GET", "/readyz");
    expect(ready.dependencies.find((d) => d.name === "sandboxes")!.state).toBe("down");
    expect(await alert.textContent()).toContain("Next: omoi sandbox list");
    expect(await figure(page, "Deletion not verified").getAttribute("class")).toBe("bad");
    await page.getByRole("link", { name: "Server", exact: true }).click();
    await row(page, "sandboxes").locator("[data-mark=down]").waitFor();
  });
}, 180_000);

test("guardian: the verdict shows its evidence, an intervention is withdrawn once, and users' actions are reverted", async () => {
  await omoi.call("POST", "/api/v1/guardian/intervention/override-priority", { task_id: third.id, new_priority: "HIGH", reason: `urgent ${hidden}` });
  await fleet("?tab=supervision", async ({ page }) => {
    page.on("dialog", () => { throw new Error("a script ran"); });
    const sent: string[] = [];
    page.on("request", (r) => r.method() === "POST" && sent.push(new URL(r.url()).pathname));
    const verdict = row(page, "Loops").first();
    await verdict.locator("[data-mark='Needs steering']").waitFor();
    const first = verdict.getByRole("link", { name: /^event \d+$/ }).first();
    expect(await first.getAttribute("href")).toMatch(new RegExp(`/tasks/${looping.id}\\?attempt=1#e1:\\d+$`));
    // a finding is rated by the keyboard, and the rating is of this analysis only
    const wrong = verdict.getByRole("button", { name: /^wrong.*the finding loop$/ });
    await wrong.focus();
    await page.keyboard.press("Enter");
    await page.locator("[data-receipt=done]", { hasText: "Rate the finding loop as wrong" }).waitFor();
    await verdict.locator("button[aria-pressed=true]", { hasText: "wrong" }).waitFor();
    const ratings = await omoi.call<Schemas["GuardianRatingSummary"]>("GET", "/api/v1/guardian/ratings");
    expect([ratings.findings.wrong, ratings.false_positives]).toEqual([1, 1]);
    await page.getByRole("link", { name: "Interventions" }).click();
    const shown = row(page, looping.key).first();
    await shown.getByRole("button", { name: /^right/ }).click();
    await shown.locator("button[aria-pressed=true]", { hasText: "right" }).waitFor();
    await shown.getByRole("button", { name: /^wrong/ }).click();
    await shown.locator("button[aria-pressed=true]", { hasText: "wrong" }).waitFor();
    expect(await shown.locator("button[aria-pressed=true]").count()).toBe(1);
    await shown.locator("[data-mark=sent]").waitFor();
    await shown.getByRole("button", { name: /^Withdraw…/ }).click();
    expect(await page.getByRole("dialog").textContent()).toContain("The agent does not get the message.");
    await page.getByRole("button", { name: "Withdraw it" }).dblclick();
    await page.locator("[data-receipt=done]", { hasText: "withdrawn" }).waitFor();
    await shown.locator("[data-mark=withdrawn]").waitFor();
    expect(sent.filter((p) => p.endsWith("/withdraw")).length).toBe(1);
    expect(await shown.getByRole("button", { name: /^Withdraw/ }).count()).toBe(0);

    // the page of the task asks the same
    await on(`/tasks/${looping.key}?tab=details`, async (task) => {
      task.allow(late);
      await row(task.page, "nudge").locator("button[aria-pressed=true]", { hasText: "wrong" }).waitFor();
      await row(task.page, "Needs steering").first().getByRole("button", { name: /^right/ }).first().click();
      await task.page.locator("[data-receipt=done]", { hasText: "Rate the finding loop as right" }).waitFor();
    }, { base: omoi.url });

    await page.getByRole("link", { name: "Guardian actions" }).click();
    const action = row(page, "urgent");
    expect(await action.textContent()).toContain("U+202E");
    await action.getByRole("button", { name: /^Revert…/ }).click();
    expect(await page.getByRole("button", { name: "Revert", exact: true }).isDisabled()).toBe(true);
    await page.getByLabel("Reason").fill("no longer urgent");
    await page.getByRole("button", { name: "Revert", exact: true }).click();
    await action.locator("[data-mark=reverted]").waitFor();
    expect((await omoi.read(third)).priority).toBe("MEDIUM");
    expect(await page.locator("main img, main script").count()).toBe(0);
  });
});

test("an agent that was not analyzed, a model that does not answer and an unknown verdict have their own states", async () => {
  await fleet("?tab=supervision", async ({ page }) => {
    await page.route("**/api/v1/guardian/analyses?*", async (route) => {
      const answer = await route.fetch(), body = (await answer.json()) as Schemas["GuardianAnalysisList"];
      const like = (id: string, change: object, more: object = {}) => ({ ...body.items[0]!, id, source: "none", verdict: "unknown", needs_steering: false, alignment_score: null, ...change, analysis: { ...body.items[0]!.analysis, findings: [], recommendation: undefined, ...more } });
      await route.fulfill({ response: answer, json: { ...body, items: [like("1", {}), like("2", {}, { trouble: "529 overloaded" }), like("3", { verdict: "puzzled" }), like("4", { verdict: "healthy", source: "model" })] } });
    });
    for (const word of ["Not checked", "Model unavailable", "puzzled"]) {
      const mark = page.locator(`tbody [data-mark="${word}"]`);
      await mark.waitFor();
      expect(await mark.getAttribute("class")).toContain("s-unknown");
    }
    await page.getByText("529 overloaded").waitFor();
    expect(await page.locator("table[aria-label=Verdicts] .s-done").allTextContents()).toEqual(["Healthy"]);
    await page.unrouteAll({ behavior: "wait" });
  });
});

test("a schedule is paused, says why, and is resumed; a run is started", async () => {
  const schedule = () => omoi.call<Schemas["Schedule"]>("GET", "/api/v1/schedules/retention");
  await fleet("?tab=supervision", async ({ page }) => {
    const line = page.locator("table[aria-label=Schedules] tbody tr", { hasText: "retention" });
    await line.getByRole("button", { name: /^Pause…/ }).click();
    expect(await page.getByRole("dialog").textContent()).toContain("Old data stays");
    await page.getByLabel("Reason").fill(`audit ${hidden}`);
    await page.getByRole("button", { name: "Pause the schedule" }).click();
    await page.locator("[data-receipt=done]", { hasText: "retention is paused" }).waitFor();
    await line.locator("[data-mark=paused]").waitFor();
    expect(await line.textContent()).toContain("U+202E");
    expect(await page.locator("main img").count()).toBe(0);
    expect((await schedule()).paused).toBe(true);
    const before = (await schedule()).recent.length;
    await line.getByRole("button", { name: /^Run now…/ }).click();
    await page.getByRole("button", { name: "Run now", exact: true }).click();
    await expect.poll(async () => (await schedule()).recent.length, { timeout: 20_000 }).toBeGreaterThan(before);
    await line.getByRole("button", { name: /^Resume…/ }).click();
    await page.getByRole("button", { name: "Resume the schedule" }).click();
    await line.locator("[data-mark=active]").waitFor();
    expect((await schedule()).paused).toBe(false);
  });
});

test("duplicates are shown as pairs with their similarity", async () => {
  const pair = [await omoi.task(`Rename the configuration keys ${evil}`, [sleepForever], { repo: repo("twins") }), await omoi.task(`Rename the configuration keys ${evil}`, [sleepForever], { repo: `${omoi.home}/twins` })];
  for (const task of pair) {
    await omoi.until(task, (t) => t.status === "running");
  }
  await omoi.call("POST", "/api/v1/schedules/conductor/run", {});
  await fleet("?tab=supervision&list=duplicates", async ({ page }) => {
    const shown = row(page, pair[0]!.key);
    await shown.waitFor({ timeout: 60_000 });
    const text = await shown.textContent();
    expect(text).toContain(pair[1]!.key);
    expect(text).toMatch(/\d+ %/);
    expect(await page.locator("main img").count()).toBe(0);
  });
}, 120_000);

test("usage by day equals the API, and its project is in the address", async () => {
  const spent = await omoi.task("Spends", [{ usage: { input_tokens: 38_000, output_tokens: 2000, cost_usd: 0.41 } }, { complete: {} }], { repo: repo("spends") });
  await omoi.until(spent, (t) => t.completed_at !== null);
  await fleet("?tab=usage", async ({ page }) => {
    await page.getByLabel("Project").selectOption(spent.project_id);
    await page.getByText("0.41 USD").first().waitFor();
    expect(new URL(page.url()).searchParams.get("project")).toBe(spent.project_id);
    const heights = await page.$$eval(".bars > div > div", (bars) => bars.map((b) => (b as HTMLElement).style.height));
    expect([heights.length, heights.at(-1), heights.at(0)]).toEqual([30, "100%", "0%"]);
    await page.getByRole("link", { name: "Tokens" }).click();
    await page.getByText("40 k tokens").first().waitFor();
    await page.getByRole("link", { name: "7 days" }).click();
    await expect.poll(() => page.locator(".bars > div").count()).toBe(7);
    await page.reload();
    await page.getByText("40 k tokens").first().waitFor();
  });
});

test("a hidden tab asks for nothing; g f opens the fleet", async () => {
  await on("/tasks", async ({ page }) => {
    await page.clock.install();
    await page.reload();
    await page.locator(".task-row").first().waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("f");
    await figure(page, "Slots").waitFor();
    let asked = 0;
    page.on("request", () => asked++);
    await expect.poll(() => asked, { timeout: 20_000 }).toBeGreaterThan(0);
    await page.evaluate(() => {
      Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "hidden" });
      document.dispatchEvent(new Event("visibilitychange"));
    });
    await page.clock.runFor(10_000); // what is under way ends
    const ask = () => page.evaluate(async () => (await fetch("/healthz")).ok); // shows that requests before this one were counted
    await ask();
    asked = 0;
    await page.clock.runFor(120_000);
    await ask();
    expect(asked).toBe(1);
    await page.evaluate(() => {
      Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "visible" });
      document.dispatchEvent(new Event("visibilitychange"));
    });
    await expect.poll(() => asked, { timeout: 20_000 }).toBeGreaterThan(0);
  }, { base: omoi.url });
});

const views = ["", "?tab=queue", "?tab=sandboxes&show=all", "?tab=supervision", "?tab=supervision&list=interventions", "?tab=supervision&list=duplicates", "?tab=usage", "?tab=server"];

test("25: no view scrolls sideways on a phone, and every button is large enough", async () => {
  for (const view of views) {
    await fleet(view, async ({ page }) => {
      await page.waitForFunction(() => document.querySelector(".figure") !== null && !document.body.textContent!.includes("Loading…"));
      expect(await page.evaluate(() => document.documentElement.scrollWidth), view).toBeLessThanOrEqual(360);
      const small = await page.$$eval("main button, main .chip, main select", (all) => all.filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 43.5).map((e) => e.textContent));
      expect(small, view).toEqual([]);
    }, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
  }
});

test.skipIf(process.env["OMOI_PICTURES"] === undefined)("pictures of the fleet", async () => {
  execFileSync("mkdir", ["-p", process.env["OMOI_PICTURES"]!]);
  for (const [width, height] of [[1440, 900], [900, 800], [360, 740]] as const) {
    for (const colorScheme of ["light", "dark"] as const) {
      for (const [n, view] of views.entries()) {
        await fleet(view, async ({ page }) => {
          await page.waitForFunction(() => document.querySelector(".figure") !== null && !document.body.textContent!.includes("Loading…"));
          await page.screenshot({ path: `${process.env["OMOI_PICTURES"]}/fleet-${n}-${width}-${colorScheme}.png`, fullPage: true });
        }, { viewport: { width, height }, colorScheme });
      }
    }
  }
}, 300_000);
