import { afterEach, expect, test } from "vitest";

import { Omoi, serve, signedIn, sleepForever, type Task } from "./omoi";

const key = "a-first-key-of-this-test-0123456789";
const server = new Omoi(key);
serve(server);
afterEach(() => server.cancelAll());

const as = (path: string, act: Parameters<typeof signedIn>[3], options?: Parameters<typeof signedIn>[4]) => signedIn(server, key, path, act, options);
const asks = (task: Task): Promise<Task> => server.until(task, (t) => t.question !== null);
const focused = () => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent;

test("an open question is in the list and on top of its task, and a proposal answers it by keys alone", async () => {
  const task = await server.task("Choose the database", [{ ask: { text: "Which **database**?", options: ["PostgreSQL", "SQLite"] } }, { say: "I take {{message}}." }, sleepForever]);
  await asks(task);
  await as("/tasks", async ({ page }) => {
    const row = page.locator(".task-row", { hasText: "Choose the database" });
    await expect.poll(() => row.textContent()).toMatch(/Needs you.*"Which database\?" \(PostgreSQL \/ SQLite\)/);
    await row.click();
    const question = page.getByRole("region", { name: "The agent asks" });
    await question.getByText("Which database?").waitFor();
    await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Answer to the agent");
    expect(await question.textContent()).toMatch(/scripted, attempt 1, since \d.*The agent waits in its sandbox\. An answer is awaited without a limit\./);
    expect(await page.locator(".composer").count()).toBe(1);
    await page.keyboard.press("Shift+Tab");
    expect(await page.evaluate(focused)).toBe("SQLite");
    await page.keyboard.press("Enter");
    await page.locator(".feed").getByText("I take SQLite.").waitFor();
    await question.waitFor({ state: "detached" });
    const answered = async (): Promise<void> => {
      await expect.poll(() => page.locator(".settled-question").textContent()).toMatch(/^Answered by .+ \d\d:\d\d:\d\d: SQLite · The agent gets it as a message\.$/);
      await expect.poll(() => page.locator(".event [data-question=answered]").textContent()).toContain("SQLite");
      await page.locator(".receipts", { hasText: 'Answer "SQLite": asked' }).locator('[data-receipt="it is the first answer"]').waitFor();
    };
    await answered();
    expect(await page.evaluate(() => document.activeElement === document.body)).toBe(false);
    await page.reload();
    await answered();
    expect(await page.locator(".ask").count()).toBe(0);
  });
});

test("an answer that comes second is refused, shows the first one, and stays in its box", async () => {
  const task = await server.task("Answered twice", [{ ask: { text: "Which one?", options: ["A"] } }, sleepForever]);
  const { question } = await asks(task);
  await as(`/tasks/${task.key}`, async ({ page, allow }) => {
    allow(/409/);
    await page.route("**/api/v1/questions/*/answer", async (route) => {
      await server.call("POST", `/api/v1/questions/${question!.id}/answer`, { answer: "The first" });
      await route.continue();
    });
    await page.locator(".ask").getByRole("textbox").fill("The second");
    await page.keyboard.press("Control+Enter");
    await page.locator("[data-receipt=refused]", { hasText: 'Answer "The second"' }).waitFor();
    await page.locator(".settled-question", { hasText: "The first" }).waitFor();
    await expect.poll(() => page.getByLabel("Message to the agent").inputValue()).toBe("The second");
  });
});

test("16: what an agent asks is text only, also on a phone, and an answer to one question is not sent to the next by itself", async () => {
  const task = await server.task("Hostile", [], { agent: "external", execution_config: {} });
  const { sandbox_id } = await server.until(task, (t) => t.sandbox_id !== null && t.status !== "pending");
  const post = (event_type: string, event_data: object) => server.call("POST", `/api/v1/sandboxes/${sandbox_id}/events`, { event_type, event_data, source: "agent" });
  await post("agent.started", {});
  await post("agent.waiting", { question: "<img src=//evil.test onerror=document.title='x'> [click](javascript:alert(1)) https://evil.test a\u202eb", options: ["<script>alert(1)</script>", "y".repeat(300), "c\u200bd"] });
  await as(`/tasks/${task.key}`, async ({ page }) => {
    const box = page.locator(".ask");
    await box.getByText("[click](javascript:alert(1)) https://evil.test").waitFor();
    await page.locator(".feed .event", { hasText: "[click]" }).waitFor();
    expect(await page.locator(".ask :is(img, a, script), .feed :is(img, script, a:not(.number))").count()).toBe(0);
    expect(await box.locator(".mark").allTextContents()).toEqual(["U+202E", "U+200B"]);
    expect(await box.getByRole("button").allTextContents()).toEqual(["<script>alert(1)</script>", "y".repeat(300), "cU+200Bd", "Send"]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    for (const button of await box.getByRole("button").all()) {
      expect(await button.evaluate((e) => [e.getBoundingClientRect().height >= 43.5, e.scrollWidth <= e.clientWidth])).toEqual([true, true]);
    }
    await box.getByRole("textbox").fill("Yes, go on");
    await post("agent.waiting", { question: "May I delete all?", question_kind: "permission" });
    const next = page.getByRole("region", { name: "The agent asks for a permission" });
    await next.getByText("The question changed after you began this answer.").waitFor();
    expect(await next.getByRole("button", { name: "Send" }).isDisabled()).toBe(true);
    await page.locator(".event [data-question=cancelled]", { hasText: "Cancelled" }).getByText("The agent asked something else.").waitFor();
    await next.getByRole("button", { name: "Answer this question with it" }).click();
    await next.getByRole("button", { name: "Send" }).click();
    await page.locator(".event [data-question=answered]", { hasText: "Yes, go on" }).waitFor();
  }, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
});

test("a key that reads sees the question and its proposals, and nothing to answer with", async () => {
  const task = await server.task("Seen only", [{ ask: { text: "Which one?", options: ["A", "B"] } }, sleepForever]);
  const viewer = await server.call<{ secret: string }>("POST", "/api/v1/auth/api-keys", { name: "viewer", scopes: ["read"] });
  await asks(task);
  await signedIn(server, viewer.secret, `/tasks/${task.key}`, async ({ page }) => {
    await page.locator(".ask").getByText("Which one?").waitFor();
    expect(await page.locator(".ask .proposed li").allTextContents()).toEqual(["A", "B"]);
    expect(await page.locator(":is(.ask, .composer) :is(button, textarea, input)").count()).toBe(0);
  });
});
