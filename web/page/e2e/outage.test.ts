import type { Page } from "playwright-core";
import { afterEach, expect, test } from "vitest";

import { fact, on, omoi, serve, serverGone, sleepForever } from "./omoi";

serve();
afterEach(async () => {
  await omoi.revive();
  await omoi.cancelAll();
});

const noBanner = (page: Page): Promise<void> => expect.poll(() => page.locator(".banner").count(), { timeout: 40_000 }).toBe(0);

test("12: without its server the page shows what it had, and calls nothing running", async () => {
  const task = await omoi.task("Lost", [{ say: "I work." }, sleepForever]);
  await omoi.until(task, (t) => t.status === "running");
  for (const [path, status] of [[`/tasks/${task.key}`, ".task-title .status"], ["/tasks", ".task-row .status"]] as const) {
    await on(path, async ({ page, allow }) => {
      allow(serverGone, /answer 500|status of 500/);
      await page.locator(status, { hasText: "Running" }).first().waitFor();
      await omoi.kill();
      await page.locator(".banner", { hasText: /^No connection\. Showing the state of \d\d:\d\d:\d\d, trying again/ }).waitFor();
      await page.locator(status, { hasText: "Unknown" }).first().waitFor();
      expect(await page.locator(status, { hasText: "Running" }).count()).toBe(0);
      expect(await page.textContent("main")).toContain("Lost"); // what is shown stays
      if (path !== "/tasks") {
        expect(await page.textContent(status)).toMatch(/Unknown since \d\d:\d\d:\d\d/);
        await page.locator(".banner [aria-hidden]", { hasText: /^ in \d+ s$/ }).waitFor(); // no screen reader speaks each second
      }
      await omoi.start();
      await page.getByRole("button", { name: "Try now" }).click({ timeout: 2000 }).catch(() => undefined); // unless it has connected
      await page.locator(status, { hasText: "Running" }).first().waitFor({ timeout: 30_000 });
      await noBanner(page);
    });
  }
});

test("after a part of the page that could not be loaded the others work, and it says what failed", async () => {
  await on("/tasks", async ({ page, allow }) => {
    allow(/ERR_FAILED|dynamically imported module/);
    await page.getByRole("heading", { name: "Tasks" }).waitFor();
    await page.route("**/assets/page-*.js", (route) => route.abort());
    await page.getByRole("link", { name: "Fleet" }).click();
    await page.getByRole("heading", { name: "This part of the page failed" }).waitFor();
    expect(await page.getByRole("alert").textContent()).toContain("Failed to fetch dynamically imported module");
    await page.getByRole("link", { name: "Tasks", exact: true }).click();
    await page.getByRole("heading", { name: "Tasks" }).waitFor();
  });
});

test("12: the page says when Temporal or the database does not answer, and tasks continue", async () => {
  const task = await omoi.task("Away", [{ say: "I work." }, sleepForever]);
  await omoi.until(task, (t) => t.status === "running");
  for (const [name, process] of [["Temporal", /temporal/], ["database", /postgres/]] as const) {
    omoi.signal(process, "SIGSTOP");
    try {
      await on("/settings", async ({ page, allow }) => {
        allow(serverGone, /answer 500|status of 500/);
        await page.locator(".banner", { hasText: new RegExp(name, "i") }).waitFor();
        omoi.signal(process, "SIGCONT");
        await noBanner(page);
      });
    } finally {
      omoi.signal(process, "SIGCONT");
    }
  }
  expect((await omoi.read(task)).status).toBe("running");
});

test("12: a task that is accepted while Temporal does not answer waits, and starts by itself", async () => {
  omoi.signal(/temporal/, "SIGSTOP");
  try {
    const task = await omoi.task("Accepted", [{ complete: {} }]);
    expect(task.why).toBe("Admitted; waiting for Temporal to start the workflow.");
    await on(`/tasks/${task.key}`, async ({ page, allow }) => {
      allow(serverGone, /answer 500|status of 500/);
      await page.locator(".banner", { hasText: /^Temporal does not work: .+ Tasks continue when it works again\./ }).waitFor();
      expect(await page.textContent(".task-title .status")).toBe("Waiting");
      omoi.signal(/temporal/, "SIGCONT");
      await page.locator(".task-title .status", { hasText: "Done" }).waitFor({ timeout: 60_000 });
    });
  } finally {
    omoi.signal(/temporal/, "SIGCONT");
  }
});

test("12: an agent of which the provider says nothing is unknown, and not called running", async () => {
  const task = await omoi.task("Unheard", [{ say: "I work." }, sleepForever]);
  await omoi.until(task, (t) => t.status === "running");
  const why = "Attempt 1 runs, and its state is unknown, which alone does not end it: the provider does not answer.";
  await on("/settings", async ({ page }) => {
    await page.route("**/why", async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, json: { ...(await answer.json()), state: "unknown", why } });
    });
    await page.getByRole("link", { name: "Tasks", exact: true }).click();
    await page.locator(".task-row", { hasText: task.key }).click();
    await page.locator(".why-line", { hasText: why }).waitFor();
    expect(await page.textContent(".task-title .status")).toBe("Unknown");
    await page.unrouteAll({ behavior: "wait" });
    await page.locator(".task-title .status", { hasText: "Running" }).waitFor();
  });
});

test("26: a new binary under an open page: a banner, no reload, and the page works on", async () => {
  const task = await omoi.task("Update", [{ say: "Before." }, { wait_message: { timeout_s: 300 } }, { say: "After." }, sleepForever]);
  await omoi.until(task, (t) => t.status === "running");
  const other = await omoi.otherVersion();
  await on(`/tasks/${task.key}`, async ({ page, allow }) => {
    allow(serverGone, /answer 500|status of 500/);
    await page.getByText("Before.").first().waitFor();
    await page.evaluate(() => Object.assign(window, { loadedOnce: true }));
    await omoi.kill();
    await omoi.start(other);
    await page.locator(".banner", { hasText: "omoi was updated to" }).waitFor({ timeout: 30_000 });
    await fact(page, "conn", "live");
    await page.fill(".composer textarea", "go on");
    await page.keyboard.press("Control+Enter");
    await page.getByText("After.").waitFor();
    expect(await page.evaluate(() => "loadedOnce" in window), "no reload").toBe(true);
    await page.getByRole("button", { name: "Reload" }).click();
    await page.locator(".banner").waitFor({ state: "detached" });
  });
});
