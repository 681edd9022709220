import { afterEach, expect, test } from "vitest";

import { on, omoi, serve, type Task } from "./omoi";

process.env["OMOI_TASK_QUESTION_WAIT"] = "1s"; // an agent that asks is suspended soon
process.env["OMOI_TASK_HEARTBEAT_TIMEOUT"] = "3s"; // how often the workflow looks
process.env["OMOI_TASK_QUESTION_EXPIRY"] = "720h";
serve();
afterEach(() => omoi.cancelAll());

const suspended = (task: Task): Promise<Task> => omoi.until(task, (t) => t.blocked_reason === "question");

test("a suspended task says that it costs nothing, takes an answer, and its next attempt continues with it", async () => {
  const task = await omoi.task("Choose for days", [{ ask: { text: "Which one?", options: ["A", "B"] } }, { say: "I take {{message}}." }, { wait_message: { timeout_s: 300 } }]);
  await suspended(task);
  await on("/tasks", async ({ page }) => {
    const row = page.locator(".task-row", { hasText: "Choose for days" });
    await expect.poll(() => row.textContent()).toMatch(/"Which one\?" \(A \/ B\) The task is suspended until a user answers/);
    await row.click();
    const question = page.getByRole("region", { name: "The agent asks" });
    await question.getByText(/The task is suspended since .*, without a sandbox, a slot or cost\. An answer is awaited until .* 2\d\d\d.*; then the task fails\./).waitFor();
    expect(await page.locator("[data-change]").count()).toBe(0);
    await page.getByRole("button", { name: "Retry…" }).click();
    await page.getByRole("dialog").getByText("The open question is cancelled: nobody can answer it any more.").waitFor();
    await page.keyboard.press("Escape");
    await question.getByRole("textbox").focus();
    await page.keyboard.type("Neither");
    await page.keyboard.press("Control+Enter");
    await expect.poll(() => page.locator(".settled-question").textContent(), { timeout: 60_000 }).toMatch(/Answered.*: Neither · Attempt 2 continues with it\./);
    expect(await page.evaluate(() => document.activeElement === document.body)).toBe(false);
    await page.locator(".feed").getByText("I take Neither.").waitFor({ timeout: 60_000 });
    await page.getByRole("navigation", { name: "Attempts" }).getByRole("link").first().click();
    await page.locator(".event [data-question=answered]", { hasText: "Neither" }).waitFor();
  });
});

test("a question that ended without an answer is in the timeline with the reason", async () => {
  const task = await omoi.task("Given up", [{ ask: "Which one?" }]);
  await suspended(task);
  await omoi.call("POST", `/api/v1/tasks/${task.id}/cancel`, {});
  const { question } = await omoi.until(task, (t) => t.completed_at !== null);
  expect(question).toBeNull();
  await on(`/tasks/${task.key}`, async ({ page }) => {
    const card = page.locator(".event.person", { hasText: "Which one?" });
    await expect.poll(() => card.locator("[data-question=cancelled]").textContent()).toMatch(/^Cancelled \d\d:\d\d:\d\d: \w+/);
    expect(await page.locator(".ask, .settled-question").count()).toBe(0);
  });
});
