import { expect, test } from "vitest";

import { fact, on, omoi, serve, sleepForever, type Event, type Task } from "./omoi";

process.env["OMOI_TEST_MESSAGE_LEASE_DURATION"] = "1s"; // a message that was fetched and not used is due again soon
serve();

const running = (task: Task): Promise<Task> => omoi.until(task, (t) => t.status === "running");

test("9: a message is shown with each step that the server recorded, and used once", async () => {
  const task = await omoi.task("Ask", [{ say: "Which one?" }, { wait_message: { timeout_s: 300 } }, { say: "Thank you: {{message}}" }, sleepForever]);
  await running(task);
  await on(`/tasks/${task.key}`, async ({ page }) => {
    await page.locator(".feed").getByText("Which one?").waitFor();
    await page.fill(".composer textarea", "the <b>second</b> one");
    await page.keyboard.press("Control+Enter");
    await page.locator(".feed").getByText("Thank you: the <b>second</b> one").waitFor();
    expect(await page.inputValue(".composer textarea")).toBe("");
    await page.getByRole("link", { name: "Messages" }).click();
    const message = page.locator("[data-message]");
    await expect.poll(() => message.getAttribute("data-message"), { timeout: 20_000 }).toMatch(/^(acknowledged|answered)$/);
    for (const step of ["accepted", "delivered", "acknowledged"]) {
      expect(await message.locator(".steps .reached").allTextContents()).toContainEqual(expect.stringContaining(step));
    }
    const used = (await omoi.events(task)).filter((e: Event) => e.event_type === "agent.message_injected");
    expect(used.length).toBe(1);
    expect(await page.locator("[data-message]").count()).toBe(1);
  });
});

test("9: the page shows the five states of the store; a message whose first consumer is killed after the fetch is used once", async () => {
  const task = await omoi.task("Reads late", [], { agent: "external", execution_config: {} });
  const { sandbox_id } = await omoi.until(task, (t) => t.sandbox_id !== null && t.status !== "pending");
  const post = (event_type: string, event_data: object) => omoi.call("POST", `/api/v1/sandboxes/${sandbox_id}/events`, { event_type, event_data, source: "agent" });
  const fetched = () => omoi.call<{ id: string; content: string }[]>("GET", `/api/v1/sandboxes/${sandbox_id}/messages`);
  await post("agent.started", {});
  await on(`/tasks/${task.key}?tab=messages`, async ({ page }) => {
    const reaches = async (...steps: string[]): Promise<void> => {
      await page.locator(`[data-message=${steps.at(-1)}]`).waitFor();
      expect((await page.locator("[data-message] .steps .reached").allTextContents()).map((s) => s.split(" ")[0])).toEqual(steps);
    };
    await page.fill(".composer textarea", "the second one");
    await page.keyboard.press("Control+Enter");
    await reaches("accepted");
    const [first] = await fetched(); // the consumer is killed before it uses the message
    await reaches("accepted", "delivered");
    await expect.poll(async () => (await fetched()).map((m) => m.id), { timeout: 20_000 }).toEqual([first!.id]);
    await reaches("accepted", "delivered");
    await post("agent.message_injected", { message_id: first!.id, content: first!.content, message_type: "user_message", sender_kind: "person" });
    await reaches("accepted", "delivered", "acknowledged");
    await post("agent.message", { content: "I take it.", in_reply_to: first!.id });
    await reaches("accepted", "delivered", "acknowledged", "answered");
    expect(await page.locator(".message").count()).toBe(1);
  });
});

test("9: an answer that was begun under one question is not sent to the next one by itself", async () => {
  const task = await omoi.task("Asks twice", [], { agent: "external", execution_config: {} });
  const { sandbox_id } = await omoi.until(task, (t) => t.sandbox_id !== null && t.status !== "pending");
  const post = (event_type: string, event_data: object) => omoi.call("POST", `/api/v1/sandboxes/${sandbox_id}/events`, { event_type, event_data, source: "agent" });
  const ask = async (content: string): Promise<void> => {
    await post("agent.message", { content });
    await post("agent.waiting", {});
  };
  await post("agent.started", {});
  await ask("Which one?");
  await on(`/tasks/${task.key}`, async ({ page }) => {
    const box = page.locator(".ask"), send = box.getByRole("button", { name: "Send" });
    await box.getByText("Which one?").waitFor();
    await box.getByText(/\+Enter sends/).waitFor();
    await box.getByRole("textbox").fill("Fine, go on");
    expect(await send.isDisabled()).toBe(false);
    await post("agent.message_injected", { content: "the first", message_type: "user_message", sender_kind: "person" });
    await ask("May I delete the others?");
    await box.getByText("May I delete the others?").waitFor();
    await box.getByText("The question changed after you began this answer.").waitFor();
    await box.getByRole("textbox").focus();
    await page.keyboard.press("Control+Enter");
    expect(await send.isDisabled()).toBe(true);
    expect(await box.getByRole("textbox").inputValue()).toBe("Fine, go on");
    await box.getByRole("button", { name: "Answer this question with it" }).click();
    await send.click();
    await expect.poll(() => page.evaluate(() => sessionStorage.getItem(Object.keys(sessionStorage).find((k) => k.startsWith("omoi.sent.")) ?? ""))).toContain("Fine, go on");
  });
  await omoi.call("POST", `/api/v1/tasks/${task.id}/cancel`, {}); // its slot is for the next tests
});

test("10: cancel says what it does, is sent once, and shows its receipt", async () => {
  const task = await omoi.task("Long", [{ say: "I work." }, sleepForever]);
  await running(task);
  await on(`/tasks/${task.key}`, async ({ page }) => {
    const sent: string[] = [];
    page.on("request", (r) => r.method() === "POST" && sent.push(new URL(r.url()).pathname));
    await page.getByText("I work.").waitFor();
    await page.getByRole("button", { name: "Cancel…" }).click();
    const dialog = page.getByRole("dialog", { name: `Cancel ${task.key}?` });
    expect(await dialog.textContent()).toContain("Uncommitted work is saved first; Receipts shows where.");
    const focused = (): Promise<string | null | undefined> => page.evaluate(() => document.activeElement?.textContent);
    expect(await focused()).toBe("Go back");
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    expect(await focused(), "the focus returns").toBe("Cancel…");
    await page.keyboard.press("Enter");
    await dialog.getByLabel("Reason").fill("no longer wanted");
    await dialog.getByRole("button", { name: "Cancel the task" }).dblclick();
    await page.locator("[data-receipt=carried_out]").waitFor();
    await page.locator(".task-title .status", { hasText: "Cancelled" }).waitFor();
    expect(sent).toEqual([`/api/v1/tasks/${task.id}/cancel`]);
    await page.reload();
    await page.locator("[data-receipt=carried_out]").waitFor();
    expect(await page.textContent(".why-line")).toContain("no longer wanted");
    await page.getByRole("link", { name: "Receipts" }).click();
    await page.locator("[data-verified=true]").waitFor({ timeout: 60_000 });
  });
});

test("10: retry, suspend and pause of the project, and a command that comes too late", async () => {
  const task = await omoi.task("Fails", [{ fail: "on purpose" }], { max_retries: 0 });
  await omoi.until(task, (t) => t.status === "failed");
  await on(`/tasks/${task.key}`, async ({ page }) => {
    await page.locator(".task-title .status", { hasText: "Failed" }).waitFor();
    expect(await page.textContent(".why-line")).toContain("on purpose");
    await page.getByRole("button", { name: "Retry…" }).click();
    await page.getByRole("button", { name: "Retry the task" }).click();
    await page.locator("[data-receipt=carried_out]").waitFor();
    await page.locator(".attempts .attempt").nth(1).waitFor();
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("button", { name: "Pause its project…" }).click();
    await page.getByRole("button", { name: "Pause the project" }).click();
    await page.locator("[data-receipt]", { hasText: "is paused" }).waitFor();
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("button", { name: "Resume its project" }).click();
    await page.getByRole("button", { name: "Resume the project" }).click();
    await page.locator("[data-receipt]", { hasText: "starts tasks" }).waitFor();
    await omoi.until(task, (t) => t.status === "failed");
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("button", { name: "Rewind…" }).click();
    await page.getByRole("dialog").getByRole("combobox").waitFor();
    expect(await page.getByRole("button", { name: "Rewind the task" }).isDisabled()).toBe(true);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });
  const slow = await omoi.task("Slow", [sleepForever]);
  await running(slow);
  await on(`/tasks/${slow.key}`, async ({ page, allow }) => {
    const status = (word: string) => page.locator(".task-title .status", { hasText: word }).waitFor();
    const suspend = async () => {
      await status("Running");
      await page.getByRole("button", { name: "Suspend…" }).click();
    };
    await suspend();
    await page.getByRole("button", { name: "Suspend the task" }).click();
    await page.locator("[data-receipt=carried_out]").waitFor();
    await status("Suspended");
    await page.getByRole("button", { name: "Retry…" }).click();
    await page.getByRole("button", { name: "Retry the task" }).click();
    await status("Running");
    await page.locator(".attempt").first().click();
    await page.getByLabel("Message to the agent of attempt 2").waitFor();
    await suspend();
    await omoi.call("POST", `/api/v1/tasks/${slow.id}/cancel`, {});
    await status("Cancelled");
    allow(/409/);
    await page.getByRole("button", { name: "Suspend the task" }).click();
    await page.locator("[data-receipt=refused]", { hasText: "cancelled" }).waitFor();
  });
});

test("10: a command whose answer is lost is not shown as rejected, and its effect is", async () => {
  const task = await omoi.task("Answer lost", [{ say: "I work." }, sleepForever]);
  await running(task);
  await on(`/tasks/${task.key}`, async ({ page, allow }) => {
    allow(/ERR_FAILED/);
    await page.getByText("I work.").waitFor();
    await page.route("**/cancel", async (route) => {
      await route.fetch(); // the server has the command
      await route.abort("failed");
    });
    await page.getByRole("button", { name: "Cancel…" }).click();
    await page.getByRole("button", { name: "Cancel the task" }).click();
    await page.locator("[data-receipt=unanswered]").waitFor();
    expect(await page.textContent("[data-receipt]")).toMatch(/no answer/);
    await page.locator(".task-title .status", { hasText: "Cancelled" }).waitFor();
  });
});

test("10: an answer that is refused is shown in the words of the server", async () => {
  const task = await omoi.task("Quick", [{ complete: {} }]);
  await omoi.until(task, (t) => t.completed_at !== null);
  const other = await omoi.task("Slow", [sleepForever]);
  await running(other);
  await on(`/tasks/${other.key}`, async ({ page, allow }) => {
    allow(/409/);
    await page.getByText("sleep 600").waitFor();
    await page.route("**/suspend", (route) => route.continue({ url: route.request().url().replace(other.id, task.id) }));
    await page.getByRole("button", { name: "Suspend…" }).click();
    await page.getByRole("button", { name: "Suspend the task" }).click();
    await page.locator("[data-receipt=refused]").waitFor();
    expect(await page.textContent("[data-receipt=refused]")).toMatch(/rejected: .+/);
    expect(await page.textContent(".task-title .status")).toBe("Running"); // never a local status
  });
});

test("16: what an agent and a user write stays text", async () => {
  const evil = `<img src=x onerror=alert(1)><script>alert(2)</script> [x](javascript:alert(3))`;
  const task = await omoi.task(`${evil} title`, [
    { say: `${evil} \u202Egnp.exe\u202C` }, { think: evil },
    { write: { path: "<img src=x>.md", content: evil } }, { bash: { command: `printf '%s' '${"<svg onload=alert(1)>"}' && printf '\\033]52;c;aGk=\\007'` } },
    { wait_message: { timeout_s: 300 } }, { complete: { output: evil } },
  ], { description: evil });
  const { sandbox_id } = await running(task);
  const post = (path: string, body: object) => omoi.call("POST", `/api/v1/sandboxes/${sandbox_id}/${path}`, body);
  await post("events", { event_type: "agent.tool_use", event_data: { tool: "Ba\u202Esh", input: {} }, source: "agent" });
  await post("events", { event_type: "agent.of_the_\u3164future", event_data: { a: "\u{E0041}" }, source: "agent" });
  await post("messages", { content: "go on" });
  await omoi.until(task, (t) => t.completed_at !== null);
  await on(`/tasks/${task.key}`, async ({ page }) => {
    await fact(page, "conn", "ended");
    page.on("dialog", () => { throw new Error("a script ran"); });
    for (const shown of ["U+202Egnp.exe", "BaU+202Esh", "the_U+3164future", '{"a":"U+E0041"}']) {
      await page.getByText(shown).first().waitFor();
    }
    for (let folds = page.locator(".feed .fold[aria-expanded=false]"); await folds.count() > 0;) {
      await folds.last().click();
    }
    const drawn = { Messages: ".message", Receipts: "[data-verified]", Details: ".description", Timeline: ".feed .event" };
    for (const [tab, part] of Object.entries(drawn)) {
      await page.getByRole("link", { name: tab, exact: true }).click();
      await page.locator(part).first().waitFor();
      expect(await page.locator("main img, main script, main svg[onload], main a[href^='javascript']").count()).toBe(0);
    }
    await page.goto(`${omoi.url}/tasks`);
    await page.getByText(`${evil} title`).waitFor();
    expect(await page.locator("main img, main script").count()).toBe(0);
  });
});

test("16: the error of an agent, the name of a branch and the address of a pull request stay text", async () => {
  const evil = "<img src=x onerror=alert(1)> [x](javascript:alert(2)) \u202Egnp", shown = evil.replace("\u202E", "U+202E");
  const task = await omoi.task("Fails", [{ fail: evil }], { max_retries: 0 });
  await omoi.until(task, (t) => t.completed_at !== null); // its stream ends, so that the test can change the whole of it
  await on("/settings", async ({ page }) => {
    page.on("dialog", () => { throw new Error("a script ran"); });
    await page.route(new RegExp(`/api/v1/tasks/(${task.id}|${task.key})(/stream.*)?$`), async (route) => {
      const answer = await route.fetch(), body = await answer.text();
      await route.fulfill({ response: answer, body: body.replace(/"branch_name":"[^"]*"/g, () => `"branch_name":${JSON.stringify(evil)}`).replaceAll('"pull_request_url":null', '"pull_request_url":"javascript:alert(3)"') });
    });
    await page.getByRole("link", { name: "Tasks", exact: true }).click();
    await page.locator(".task-row", { hasText: task.key }).filter({ hasText: shown }).click();
    await page.locator(".why-line", { hasText: shown }).waitFor();
    await page.locator(".facts code", { hasText: shown }).waitFor();
    await page.locator(".feed").getByText(shown).first().waitFor();
    expect(await page.locator("main img, main script, main a[href^='javascript']").count()).toBe(0);
  });
});

test("19: an unknown event type, status, field and failure class are shown as they are", async () => {
  const task = await omoi.task("Future", [{ say: "Hello." }, sleepForever]);
  const { sandbox_id } = await running(task);
  await omoi.call("POST", `/api/v1/sandboxes/${sandbox_id}/events`, { event_type: "agent.of_the_future", event_data: { shape: "new", deep: { a: [1] } }, source: "agent" });
  await on(`/tasks/${task.key}`, async ({ page }) => {
    await page.getByText("agent.of_the_future").waitFor();
    await page.getByText("Hello.").waitFor();
  });
  await omoi.call("POST", `/api/v1/tasks/${task.id}/cancel`, {});
  await omoi.until(task, (t) => t.completed_at !== null); // its stream ends, so that the test can change the whole of it
  await on("/settings", async ({ page }) => {
    await page.route(new RegExp(`/api/v1/tasks/(${task.id}|${task.key})(/stream.*)?$`), async (route) => {
      const answer = await route.fetch(), body = await answer.text();
      await route.fulfill({ response: answer, body: body.replaceAll('"status":"cancelled"', '"another":{"field":1},"status":"hibernating"') });
    });
    await page.getByRole("link", { name: "Tasks", exact: true }).click();
    await page.locator(".task-row", { hasText: task.key }).click();
    await page.locator(".task-title .status", { hasText: "hibernating" }).waitFor();
    await page.getByText("Hello.").waitFor();
  });
  const failed = await omoi.task("Fails twice", [{ say: "Hello." }, { fail: "on purpose" }], { max_retries: 1 });
  await omoi.until(failed, (t) => t.completed_at !== null);
  await on("/settings", async ({ page }) => {
    await page.route(new RegExp(`/api/v1/tasks/(${failed.id}|${failed.key})(/stream.*)?$`), async (route) => {
      const answer = await route.fetch(), body = await answer.text();
      await route.fulfill({ response: answer, body: body.replace(/"failure_class":"[a-z_]+"/g, '"failure_class":"cosmic_ray"').replace(/"reason":"(?:[^"\\]|\\.)*"/g, '"reason":""') }); // a reason is shown in its place
    });
    await page.getByRole("link", { name: "Tasks", exact: true }).click();
    await page.locator(".task-row", { hasText: failed.key }).click();
    await page.locator(".attempts .attempt", { hasText: "failed: cosmic ray" }).first().waitFor();
    await page.getByText("Hello.").waitFor();
  });
});

test("a text over 16 KiB is loaded when its event is opened, or the page says that it is gone", async () => {
  const task = await omoi.task("Large", [sleepForever]);
  const { sandbox_id } = await running(task);
  for (const word of ["kept", "gone"]) {
    await omoi.call("POST", `/api/v1/sandboxes/${sandbox_id}/events`, { event_type: "agent.message", event_data: { content: `${word} ${"x".repeat(20_000)}` }, source: "agent" });
  }
  const gone = (await omoi.events(task)).findLast((e: Event) => e.event_type === "agent.message")!;
  await on(`/tasks/${task.key}`, async ({ page, allow }) => {
    allow(/410/);
    await page.route((url) => decodeURIComponent(url.pathname).endsWith(`/events/${gone.id}/part`), (route) => route.fulfill({ status: 410, contentType: "application/problem+json", body: JSON.stringify({ status: 410, code: "gone", title: "Gone", detail: "Retention removed it." }) }));
    const large = page.locator(".event", { hasText: "over 16 KiB" });
    await expect.poll(() => large.count()).toBe(2);
    await large.last().getByRole("button").click(); // first: a row that is opened stays in place, and the other one is long
    await page.getByText("Retention removed it.").waitFor();
    await large.first().getByRole("button").click();
    await page.getByText("kept xxx").waitFor();
    await expect.poll(() => page.locator(".event", { hasText: "kept xxx" }).getByText("over 16 KiB").count(), { message: "the whole text is there" }).toBe(0);
  });
});

test("27: ages are right although the clock of the browser is wrong by an hour", async () => {
  const task = await omoi.task("Clock", [{ say: "Now." }, sleepForever]);
  await running(task);
  for (const wrong of [3_600_000, -3_600_000]) {
    await on(`/tasks/${task.key}`, async ({ page }) => {
      await page.clock.install({ time: Date.now() + wrong });
      await page.reload();
      await expect.poll(() => page.textContent(".facts"), { timeout: 20_000 }).toMatch(/last work ([1-9]\d* s|[1-9] min) ago/);
      await page.getByRole("link", { name: "Tasks", exact: true }).click();
      await expect.poll(() => page.locator(".task-row", { hasText: task.key }).locator(".age").textContent(), { timeout: 20_000 }).toMatch(/^Started ([1-9]\d* s|[1-9] min) ago$/);
    });
  }
});
