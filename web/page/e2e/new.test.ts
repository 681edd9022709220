import { expect, test } from "vitest";
import type { Page } from "playwright-core";

import { on, omoi, serve, sleepForever, type Task } from "./omoi";

serve();

const script = JSON.stringify({ steps: [{ say: "Hello." }, { complete: {} }] });
const titled = async (title: string): Promise<Task[]> => (await omoi.call<{ items: Task[] }>("GET", `/api/v1/tasks?q=${encodeURIComponent(title)}`)).items;
const createButton = (page: Page) => page.getByRole("button", { name: "Create task" });

/** Fills the form with a scripted task of the test's repository. */
async function fill(page: Page, title: string): Promise<void> {
  await page.getByLabel("What should the agent do?").fill(title);
  const project = page.getByLabel("Project", { exact: true });
  await project.selectOption({ label: await project.locator("option").last().textContent() ?? "" });
  await page.getByLabel("Repository").fill(omoi.repo);
  await page.getByLabel("Agent", { exact: true }).selectOption("scripted");
  await page.getByLabel("Script", { exact: true }).fill(script);
}

test("the empty home runs the demo task, and leads to a new task", async () => {
  await on("/tasks", async ({ page }) => {
    await page.getByText("No tasks yet.").waitFor();
    await page.getByRole("link", { name: "a new task" }).click();
    await page.getByRole("heading", { name: "New task" }).waitFor();
    await page.goBack();
    await page.getByRole("button", { name: "Run the demo task" }).dblclick();
    await page.locator(".task-title .status", { hasText: "Done" }).waitFor({ timeout: 60_000 });
    expect(await titled("Say hello")).toHaveLength(1);
  });
});

test("11: a double click makes one task", async () => {
  await on("/sandbox/new", async ({ page }) => {
    await page.waitForURL("**/tasks/new");
    await fill(page, "Twice clicked");
    let sent = 0;
    page.on("request", (r) => r.method() === "POST" && r.url().endsWith("/api/v1/tasks") && sent++);
    await page.locator("form[aria-label='New task']").evaluate((form: HTMLFormElement) => { // before the page has drawn the first click
      form.requestSubmit();
      form.requestSubmit();
    });
    await page.locator(".task-title", { hasText: "Twice clicked" }).waitFor();
    expect([sent, (await titled("Twice clicked")).length]).toEqual([1, 1]);
    await page.keyboard.press("c");
    await page.getByRole("heading", { name: "New task" }).waitFor();
    expect(await page.getByLabel("What should the agent do?").inputValue(), "the draft is gone with its task").toBe("");
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("TEXTAREA");
  });
});

test("11: a lost answer makes one task", async () => {
  const keys: (string | undefined)[] = [];
  await on("/tasks/new", async ({ page, allow }) => {
    allow(/ERR_FAILED/);
    await page.route("**/api/v1/tasks", async (route) => {
      keys.push(route.request().headers()["idempotency-key"]);
      if (keys.length > 1) {
        return route.continue();
      }
      await route.fetch(); // the server has the task
      await route.abort("failed");
    });
    await fill(page, "Answer lost");
    await page.keyboard.press("Control+Enter");
    await page.locator(".task-title", { hasText: "Answer lost" }).waitFor();
  });
  expect([keys.length, new Set(keys).size, keys[0]?.length]).toEqual([2, 1, 32]);
  expect(await titled("Answer lost")).toHaveLength(1);
});

test("11: a lost answer, a reload, and a changed form: the server says that the key is used", async () => {
  await on("/tasks/new", async ({ page, allow }) => {
    allow(/ERR_FAILED|409/);
    await fill(page, "Key reused");
    await page.route("**/api/v1/tasks", (route) => route.abort("failed"));
    await page.route("**/api/v1/tasks", async (route) => {
      await route.fetch(); // the server has the task
      await route.abort("failed");
    }, { times: 1 });
    await createButton(page).click();
    await page.getByText("Trying again").waitFor();
    await page.reload();
    await page.unrouteAll({ behavior: "ignoreErrors" });
    expect(await page.getByLabel("What should the agent do?").inputValue()).toBe("Key reused");
    await page.getByLabel("Title").fill("Key reused later");
    await createButton(page).click();
    await page.getByRole("alert").waitFor();
    await page.getByRole("button", { name: "Create another task" }).click();
    await page.locator(".task-title", { hasText: "Key reused later" }).waitFor();
    expect((await titled("Key reused")).map((t) => t.title).sort()).toEqual(["Key reused", "Key reused later"]);
  });
});

test("11: each value that the server refuses is named at its field, and the first has the focus", async () => {
  const wrong: [label: string, value: string, location: string][] = [
    ["Title", "x".repeat(501), "body.title"], ["Repository", "/nowhere/at/all", "body.repo"], ["Script", "{", "body.execution_config.script"],
    ["Start after these tasks", "NOPE-1", "body.dependencies.depends_on"], ["USD", "-1", "body.budget.usd"], ["Tokens", "-1", "body.budget.tokens"], ["Minutes", "-1", "body.budget.wall_clock_s"],
    ["Deadline", "2020-01-31T18:00", "body.deadline_at"], ["Retries", "11", "body.max_retries"], ["Credentials", "NOT A KIND", "body.execution_config.credentials"],
  ];
  await on("/tasks/new", async ({ page, allow }) => {
    allow(/422/);
    await fill(page, "Refused");
    await page.getByText("More settings").click();
    for (const [label, value, location] of wrong) {
      const control = page.getByLabel(label, { exact: true }), before = await control.inputValue();
      await control.fill(value);
      await page.getByText("More settings").click(); // the fault opens it again
      await createButton(page).click();
      const fault = page.locator(`[data-fault="${location}"]`);
      await fault.waitFor();
      expect(await page.locator("[data-fault]").count(), label).toBe(1);
      expect((await fault.textContent())!.length, label).toBeGreaterThan(10);
      expect(await control.evaluate((e) => e === document.activeElement && e.getAttribute("aria-describedby")!.split(" ").some((id) => document.getElementById(id)?.matches("[data-fault]"))), label).toBe(true);
      await control.fill(before);
      await fault.waitFor({ state: "detached" });
      if (!(await page.getByLabel("Deadline").isVisible())) {
        await page.getByText("More settings").click();
      }
    }
    expect(await titled("Refused")).toHaveLength(0);
  });
});

test("11: the page says beforehand what will happen, and names similar open tasks", async () => {
  const twin = await omoi.task("Crash on an empty cart at checkout", [sleepForever]);
  await omoi.until(twin, (t) => t.status === "running");
  await on("/tasks/new", async ({ page, allow }) => {
    allow(/409/);
    const outlook = page.getByRole("complementary", { name: "What will happen" });
    await outlook.getByText("Missing title and description").waitFor();
    await fill(page, "Checkout: empty cart crashes");
    await outlook.getByRole("link", { name: twin.title }).waitFor();
    expect(await outlook.textContent()).toContain(`The work starts from the default branch of ${omoi.repo}.`);
    expect(await outlook.textContent()).toMatch(/Agent scripted works in a sandbox of provider local, with .*own processes/);
    expect(await outlook.textContent()).not.toContain("Before the task can be created");
    await createButton(page).click();
    await page.getByRole("alert").waitFor();
    await page.getByRole("button", { name: "Create despite similar tasks" }).click();
    await page.locator(".task-title", { hasText: "Checkout: empty cart crashes" }).waitFor();
  });
  await omoi.call("POST", `/api/v1/tasks/${twin.id}/cancel`, {});
});

test("11: a task for which the server has no agent is not sent before the user chooses one", async () => {
  await on("/settings", async ({ page }) => {
    await page.route("**/api/v1/tasks/preview", async (route) => {
      const answer = await route.fetch(), body = await answer.json() as { errors: object[] };
      await route.fulfill({ response: answer, json: { ...body, errors: route.request().postDataJSON().agent === undefined ? [{ location: "body.agent", message: "No agent works here." }] : [] } });
    });
    let sent = 0;
    page.on("request", (r) => r.method() === "POST" && r.url().endsWith("/api/v1/tasks") && sent++);
    await page.getByRole("link", { name: "New task" }).click();
    await page.getByLabel("What should the agent do?").fill("No agent");
    await page.getByText("No agent works here.").waitFor();
    await page.getByText("Choose an agent first.").waitFor();
    expect(await createButton(page).isDisabled()).toBe(true);
    await page.keyboard.press("Control+Enter");
    await fill(page, "No agent");
    expect(await createButton(page).isDisabled()).toBe(false);
    expect(sent).toBe(0);
  });
});

test("an agent that waits for a message uses a slot of its project", async () => {
  const { id } = await omoi.call<{ id: string }>("POST", "/api/v1/projects", { name: "Waits" });
  const waiting = await omoi.task("Waits for a message", [{ wait_message: { timeout_s: 300 } }], { project_id: id, repo: undefined });
  await omoi.until(waiting, (t) => t.group === "needs_you");
  await on(`/tasks/new?project=${id}`, ({ page }) => page.getByText(/^The project uses 1 of \d+ slots; 0 tasks in its queue\.$/).waitFor());
  await omoi.call("POST", `/api/v1/tasks/${waiting.id}/cancel`, {});
});

test("again with changes: the form begins with the values of a task", async () => {
  const before = await omoi.task("Before", [{ complete: {} }]);
  const task = await omoi.task("Like this", [{ complete: {} }], { dependencies: { depends_on: [before.id] }, budget: { usd: 2, wall_clock_s: 90 }, priority: "LOW", execution_config: { script: JSON.parse(script), setup: "true", env: { TOKEN_OF_MINE: "v" } } });
  await omoi.until(task, (t) => t.completed_at !== null);
  await on(`/tasks/${task.key}`, async ({ page }) => {
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("link", { name: "New task from this one" }).click();
    await page.getByText("TOKEN_OF_MINE").waitFor();
    expect(await page.getByLabel("USD").inputValue()).toBe("2");
    expect(await page.getByLabel("Start after these tasks").inputValue()).toBe(before.key);
    await page.getByLabel("Title").fill("Like this, changed");
    await createButton(page).click();
    await page.locator(".task-title", { hasText: "Like this, changed" }).waitFor();
  });
  const [made] = await titled("Like this, changed");
  const same = (t: Task) => ({ ...t.budget, priority: t.priority, project: t.project_id, script: t.execution_config.script, setup: t.execution_config.setup, description: t.description });
  expect(same(made!)).toEqual(same(await omoi.read(task)));
});

test("names of projects and titles of tasks stay text", async () => {
  const evil = `<img src=x onerror=alert(1)>\u3164`;
  const { id } = await omoi.call<{ id: string }>("POST", "/api/v1/projects", { name: evil, key: "EVIL", description: evil, settings: { validate: true, mine: evil } });
  await on(`/tasks/new?project=EVIL`, async ({ page }) => {
    page.on("dialog", () => { throw new Error("a script ran"); });
    const option = page.locator(`option[value="${id}"]`);
    expect(await option.textContent()).toBe("EVIL · <img src=x onerror=alert(1)>U+3164");
    expect(await page.getByLabel("Project", { exact: true }).inputValue()).toBe(id);
    for (const path of ["/settings?tab=projects", "/settings?tab=projects&project=EVIL"]) {
      await page.goto(omoi.url + path);
      await page.locator(".entry, .box-form").first().waitFor();
      expect(await page.locator("main img, main script").count()).toBe(0);
    }
  });
});

test("25: on a phone a user answers, cancels and creates", async () => {
  const task = await omoi.task("Phone", [{ say: "Which one?" }, { wait_message: { timeout_s: 300 } }, { say: "Thank you: {{message}}" }, sleepForever]);
  await omoi.until(task, (t) => t.status === "running");
  await on("/tasks", async ({ page }) => {
    await page.addInitScript(() => Object.defineProperty(window, "sessionStorage", { get: () => { throw new DOMException("denied", "SecurityError"); } })); // it keeps nothing
    await page.reload();
    await page.getByText("Phone").first().tap();
    await page.getByText("Which one?").first().waitFor();
    await page.locator("main textarea").first().fill("the second");
    await page.getByRole("button", { name: /^(Send|Answer)$/ }).first().tap();
    await page.getByText("Thank you: the second").waitFor();
    await page.getByRole("button", { name: "Cancel…" }).tap();
    await page.getByRole("button", { name: "Cancel the task" }).tap();
    await page.locator(".task-title .status", { hasText: "Cancelled" }).waitFor();
    await page.getByRole("link", { name: "New", exact: true }).tap();
    await fill(page, "From the phone");
    await createButton(page).tap();
    await page.locator(".task-title", { hasText: "From the phone" }).waitFor();
  }, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
});

test("a browser may install the page", async () => {
  await on("/tasks", async ({ page }) => {
    const cdp = await page.context().newCDPSession(page);
    const { installabilityErrors } = (await cdp.send("Page.getInstallabilityErrors" as never)) as { installabilityErrors: { errorId: string }[] };
    expect(installabilityErrors.filter((e) => e.errorId !== "in-incognito")).toEqual([]);
    const { url, errors } = (await cdp.send("Page.getAppManifest" as never)) as { url: string; errors: unknown[] };
    expect([new URL(url).pathname, errors]).toEqual(["/omoi.webmanifest", []]);
  });
});

