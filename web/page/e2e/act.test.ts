import { afterEach, expect, test } from "vitest";

import { fact, late, on, omoi, serve, sleepForever, type Event, type Task } from "./omoi";

serve();
afterEach(() => omoi.cancelAll());

const running = (task: Task): Promise<Task> => omoi.until(task, (t) => t.status === "running");

test("an agent that asks is first in the list, and its question is on top with the answer box focused", async () => {
  const task = await omoi.task("Choose the database", [{ say: "Postgres **15** or 16?" }, { wait_message: { timeout_s: 300 } }, { say: "I take {{message}}." }, sleepForever]);
  const other = await omoi.task("Another", [sleepForever]);
  await omoi.until(task, (t) => t.group === "needs_you");
  await running(other);
  await on("/tasks", async ({ page }) => {
    const first = page.locator(".task-row").first();
    await expect.poll(() => first.textContent()).toMatch(/Needs you.*Choose the database.*waits for a message/);
    await expect.poll(() => page.title()).toMatch(/^\(1\)/);
    await first.click();
    const question = page.getByRole("region", { name: "The agent waits for a message" });
    await question.getByText("Postgres 15 or 16?").waitFor();
    expect(await question.locator("strong").textContent()).toBe("15");
    await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Answer to the agent");
    expect(await page.locator(".composer").count()).toBe(1);
    await page.keyboard.type("16");
    await page.keyboard.press("Control+Enter");
    await page.locator(".feed").getByText("I take 16.").waitFor();
    await question.waitFor({ state: "detached" });
    await page.getByLabel("Message to the agent").waitFor();
    await page.locator(".task-title .status", { hasText: "Running" }).waitFor();
  });
});

test("what a user types stays in the box when the agent stops to wait", async () => {
  const task = await omoi.task("Answered by another", [{ say: "Which one?" }, { wait_message: { timeout_s: 300 } }, sleepForever]);
  const { sandbox_id } = await omoi.until(task, (t) => t.group === "needs_you");
  await on(`/tasks/${task.key}`, async ({ page }) => {
    await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Answer to the agent");
    await page.keyboard.type("the one");
    await page.keyboard.press("Home");
    await omoi.call("POST", `/api/v1/sandboxes/${sandbox_id}/messages`, { content: "Another answer." });
    const box = page.getByLabel("Message to the agent");
    await box.waitFor();
    await page.keyboard.type("gc "); // keys of the page, outside of the box
    expect(await box.inputValue()).toBe("gc the one");
    expect(new URL(page.url()).pathname).toBe(`/tasks/${task.key}`);
  });
});

test("25: the current tab is in view on a phone", async () => {
  const task = await omoi.task("Tabs", [sleepForever]);
  for (const [path, name] of [[`/tasks/${task.key}?tab=details`, "Details"], ["/fleet?tab=server", "Server"]] as const) {
    await on(path, async ({ page, allow }) => {
      allow(late);
      const tab = page.locator(".tabs").getByRole("link", { name, exact: true });
      await tab.waitFor();
      await expect.poll(() => tab.evaluate((e) => e.getBoundingClientRect().right)).toBeLessThanOrEqual(360);
    }, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
  }
});

test("what is said of a task is whole on a phone; a board fits a laptop, and the figures of the fleet a tablet", async () => {
  const task = await omoi.task("Fails", [{ fail: "no route to host billing-db.internal:5432, although the address is right" }], { max_retries: 0 });
  await omoi.until(task, (t) => t.completed_at !== null);
  await on(`/tasks/${task.key}`, async ({ page }) => {
    await page.locator(".why-line", { hasText: "of attempt 1)" }).waitFor();
    expect(await page.$eval(".why-line", (e) => e.scrollHeight - e.clientHeight)).toBeLessThanOrEqual(1);
  }, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
  await on("/tasks?as=board", async ({ page }) => {
    await page.locator(".board .card", { hasText: "Fails" }).waitFor();
    expect(await page.$eval(".board", (e) => e.scrollWidth - e.clientWidth)).toBe(0);
    const width = async (name: string): Promise<number> => (await page.getByRole("region", { name }).boundingBox())!.width;
    await expect.poll(() => width("Needs you")).toBeLessThan(160); // a column without a task leaves its room to the others
    await expect.poll(() => width("Failed")).toBeGreaterThan(200);
  });
  await on("/fleet", async ({ page, allow }) => {
    allow(late);
    await page.locator(".figure").nth(6).waitFor();
    expect(new Set(await page.$$eval(".figure", (all) => all.map((e) => e.getBoundingClientRect().top))).size).toBe(1);
  }, { viewport: { width: 768, height: 800 } });
});

test("a task that waits for another one offers no retry, which the server would reject", async () => {
  const first = await omoi.task("First", [sleepForever]);
  const task = await omoi.task("After", [sleepForever], { dependencies: { depends_on: [first.id] } });
  await omoi.until(task, (t) => t.blocked_reason === "dependency");
  await expect(omoi.call("POST", `/api/v1/tasks/${task.id}/retry`, {})).rejects.toThrow("409");
  await on(`/tasks/${task.key}`, async ({ page }) => {
    await page.locator(".task-title .status", { hasText: "Blocked" }).waitFor();
    await page.getByRole("button", { name: "Cancel…" }).waitFor();
    expect(await page.getByRole("button", { name: "Retry…" }).count()).toBe(0);
    await page.locator(".waits .why-line", { hasText: `to complete: ${first.key} is running.` }).waitFor();
    expect(await page.textContent(".waits")).toMatch(/^Why it waits: .*Open (\S+), for which it waits\.$/);
    expect(await page.locator(".waits").getByRole("link").getAttribute("href")).toBe(`/tasks/${first.key}`);
    await page.getByRole("link", { name: "Details" }).click();
    await page.getByRole("link", { name: `${first.key} First` }).click();
    await page.locator(".task-title h1", { hasText: "First" }).waitFor();
  });
});

test("fork and rewind begin with a checkpoint of the timeline; take gives the command; interrupt is an action", async () => {
  const task = await omoi.task("Origin", [{ write: { path: "a.md", content: "one\n" } }, { say: "Written." }, { wait_message: { timeout_s: 300 } }, { say: "On." }, sleepForever]);
  const checkpoints = () => omoi.call<{ items: { id: string; sequence: number }[] }>("GET", `/api/v1/tasks/${task.id}/checkpoints`);
  await expect.poll(async () => (await checkpoints()).items.filter((c) => c.sequence > 0).length, { timeout: 40_000 }).toBeGreaterThan(0);
  const from = (await checkpoints()).items.find((c) => c.sequence > 0)!;
  await on(`/tasks/${task.key}#e1:${from.sequence}`, async ({ page }) => {
    await page.locator(".event.chosen .fold").click();
    await page.getByRole("button", { name: "Rewind to here…" }).click();
    await expect.poll(() => page.getByRole("dialog").getByLabel("Checkpoint").inputValue()).toBe(from.id);
    await page.getByRole("button", { name: "Go back" }).click();
    await page.getByRole("button", { name: "Fork from here…" }).click();
    const dialog = page.getByRole("dialog", { name: `Fork ${task.key}?` });
    expect(await dialog.textContent()).toContain("This task continues.");
    await page.waitForFunction((id) => (document.querySelector("dialog select") as HTMLSelectElement).value === id, from.id);
    await dialog.getByLabel("What is different").fill("Use two files.");
    const forks: string[] = [];
    page.on("request", (r) => r.url().endsWith("/fork") && forks.push(r.headers()["idempotency-key"]!));
    await dialog.getByRole("button", { name: "Create the fork" }).dblclick();
    const receipt = page.locator(".receipts", { hasText: "Fork: asked" });
    await receipt.getByRole("link").waitFor();
    expect(forks.length).toBe(1);
    await receipt.getByRole("link").click();
    await page.getByText(`fork of`).waitFor();
    expect(await page.textContent(".facts")).toContain(`fork of ${task.key} at ${from.id}`);
    await page.goto(`${omoi.url}/tasks/${task.key}`);
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("button", { name: "Take…" }).click();
    expect(await page.getByRole("dialog").locator(".copy").textContent()).toBe(`omoi take ${task.key}`);
    expect(await page.getByRole("dialog").textContent()).toContain("It suspends the task");
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy the command" }).click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(`omoi take ${task.key}`);
    await page.evaluate(() => { delete (Navigator.prototype as { clipboard?: unknown }).clipboard; }); // over plain HTTP no page may copy
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("button", { name: "Take…" }).click();
    expect(await page.getByRole("dialog").locator(".copy").textContent()).toBe(`omoi take ${task.key}`);
    expect(await page.getByRole("button", { name: "Copy the command" }).isDisabled()).toBe(true);
  });
  const live = await omoi.task("Talks", [{ wait_message: { timeout_s: 300 } }, sleepForever]);
  await running(live);
  await on(`/tasks/${live.key}`, async ({ page }) => {
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("button", { name: "Interrupt…" }).click();
    await page.getByRole("dialog").getByLabel("Message").fill("Stop now.");
    await page.getByRole("button", { name: "Interrupt the agent" }).click();
    await page.locator(".receipts", { hasText: "Interrupt: asked" }).waitFor();
    await page.locator(".event.person", { hasText: "Stop now." }).first().waitFor();
    expect((await omoi.events(live)).filter((e: Event) => /interrupt/.test(JSON.stringify(e.event_data))).length).toBeGreaterThan(0);
    await omoi.call("POST", `/api/v1/tasks/${live.id}/cancel`, {});
    await page.getByRole("button", { name: "Retry…" }).waitFor();
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("button", { name: "Take…" }).click();
    expect(await page.getByRole("dialog").textContent()).not.toContain("It suspends the task"); // it has ended
  });
});

test("an unknown address, task and sandbox say so, and lead to the tasks", async () => {
  for (const [path, head] of [["/nope", "Not found"], ["/tasks/APP-1/nope", "Not found"], ["/tasks/NO-1", "There is no task NO-1"], ["/sandbox/none", "There is no sandbox none"]] as const) {
    await on(path, async ({ page, allow }) => {
      allow(/404/);
      await page.getByRole("heading", { name: head, exact: true }).waitFor();
      await page.getByRole("link", { name: "All tasks" }).click();
      await page.getByRole("heading", { name: "Tasks" }).waitFor();
    });
  }
});

test("a text that was cut says its size, and comes whole when asked for", async () => {
  const task = await omoi.task("Cut", [{ say: "Hello." }, sleepForever]);
  const { sandbox_id } = await running(task);
  const post = (event_type: string, event_data: object) => omoi.call("POST", `/api/v1/sandboxes/${sandbox_id}/events`, { event_type, event_data, source: "agent" });
  await post("agent.message", { content: `begin ${"x".repeat(3000)} the very end` });
  await post("agent.tool_use", { tool: "Bash", tool_use_id: "big", input: { command: "make all" } });
  await post("agent.tool_completed", { tool_use_id: "big", tool_response: { stdout: `${"line of output\n".repeat(20_000)}the last line` } });
  await on(`/tasks/${task.key}`, async ({ page }) => {
    const message = page.locator(".event", { hasText: "begin xxx" });
    await message.waitFor();
    expect(await message.textContent()).not.toContain("the very end");
    await message.getByRole("button", { name: "Show all 2.9 KiB" }).click();
    await page.getByText("the very end").waitFor();
    const call = page.locator(".event", { hasText: "make all" });
    await call.locator(".fold").first().click();
    await call.getByRole("button", { name: "Show more" }).first().waitFor();
    for (let more = call.getByRole("button", { name: "Show more" }); await more.count() > 0;) {
      await more.first().click();
    }
    await call.getByText("the last line").waitFor();
  });
});

test("13: the receipts say what was saved, and never hide a sandbox that is not verified deleted", async () => {
  const none = await omoi.task("Nothing", [{ complete: {} }]);
  const ref = await omoi.task("Left", [{ write: { path: "left.txt", content: "x\n" } }, { fail: "on purpose" }], { max_retries: 0 });
  const read = (task: Task) => omoi.call<{ verified: boolean; sandboxes: { salvage: { kind: string; ref?: string } | null }[] }>("GET", `/api/v1/tasks/${task.id}/receipt`);
  for (const task of [none, ref]) {
    await omoi.until(task, (t) => t.completed_at !== null);
    await expect.poll(async () => (await read(task)).verified, { timeout: 60_000 }).toBe(true);
  }
  const real = await read(ref);
  expect(real.sandboxes[0]!.salvage!.kind).toBe("ref");
  await on(`/tasks/${none.key}?tab=receipts`, async ({ page }) => {
    await page.locator("[data-verified=true]").waitFor();
    expect(await page.textContent("main")).toMatch(/Uncommitted work\s*none/);
    expect(await page.textContent("main")).toContain("deleted, verified by a second check");
  });
  const cases: [object, RegExp, boolean][] = [
    [{}, new RegExp(`ref: ${real.sandboxes[0]!.salvage!.ref} 1 file`), true],
    [{ salvage: { kind: "patch", ref: "0199", files: 3, bytes: 10 } }, /patch: 0199 3 files/, true],
    [{ salvage: { kind: "lost", files: 0, lost_since: "2026-01-02T03:04:05Z" } }, /lost since 2 Jan 2026, 04:04/, true],
    [{ verified_at: null, gone_at: null, state: "deleting" }, /Not verified deleted: 1 of 1/, false],
  ];
  for (const [change, want, verified] of cases) {
    await on(`/tasks/${ref.key}?tab=details`, async ({ page }) => {
      await page.route("**/receipt", (route) => route.fulfill({ json: { ...real, verified, unverified: verified ? 0 : 1, sandboxes: [{ ...real.sandboxes[0], ...change }] } }));
      await page.getByRole("link", { name: "Receipts" }).click();
      await page.locator("main", { hasText: want }).waitFor();
      if (!verified) {
        expect(await page.locator(".notice.bad").textContent()).toContain("Not verified deleted");
        await page.locator("[data-verified=false]").waitFor();
      }
    });
  }
});

test("20: events of an old worker, without numbers and call IDs, are shown once and never paired", async () => {
  const task = await omoi.task("Old", [sleepForever]);
  const { sandbox_id } = await running(task);
  const old: [string, object][] = [
    ["agent.tool_use", { tool: "Bash", input: { command: "old one" } }], ["agent.tool_use", { tool: "Bash", input: { command: "old two" } }],
    ["agent.tool_completed", { tool: "Bash", tool_input: { command: "old one" }, tool_response: "1" }], ["agent.tool_completed", { tool: "Bash", tool_input: { command: "old two" }, tool_response: "2" }],
    ["agent.message", { content: "Old words." }],
  ];
  for (const [event_type, event_data] of old) {
    await omoi.call("POST", `/api/v1/sandboxes/${sandbox_id}/events`, { event_type, event_data, source: "worker" });
  }
  await on(`/tasks/${task.key}`, async ({ page }) => {
    await page.getByText("Old words.").waitFor();
    await fact(page, "complete", "true");
    const rows = await page.$$eval(".event", (all) => all.map((e) => e.textContent!));
    expect(rows.filter((r) => r.includes("old one")).length).toBe(2);
    expect(rows.filter((r) => r.includes("result only")).length).toBe(2);
    expect(rows.filter((r) => r.includes("Old words.")).length).toBe(1);
    expect(await page.evaluate(() => document.documentElement.dataset["doubles"])).toBe("0");
  });
});

test("the contract of a task is shown, refused with its line, and changed", async () => {
  const task = await omoi.task("Contract", [sleepForever]);
  await on(`/tasks/${task.key}?tab=details`, async ({ page, allow }) => {
    allow(/422/);
    const card = page.getByRole("region", { name: "Task contract" });
    await card.getByText("The contract sets nothing for: paths that may change;").waitFor();
    await card.getByRole("button", { name: "Change" }).click();
    await card.getByLabel("Contract as YAML").fill("allowed_paths:\n  - src\npaths: 1\n");
    await card.getByRole("button", { name: "Store the contract" }).click();
    await card.getByText("line 3: field paths is unknown").waitFor();
    await card.getByLabel("Contract as YAML").fill("allowed_paths:\n  - src\ntests_may_change: false\n");
    await card.getByRole("button", { name: "Store the contract" }).click();
    await card.getByText("Version 1 by").waitFor();
    await expect.poll(() => card.textContent()).toMatch(/Only these paths may changesrc.*Tests may changeno/);
  });
});

test("a task that is compared names the others and what is recommended", async () => {
  const made = await omoi.call<{ candidates: { task_key: string; task_id: string }[] }>("POST", "/api/v1/comparisons", {
    task: { repo: omoi.repo, title: "Compare", description: "Compare", execution_config: { script: { steps: [{ complete: {} }] } } },
    candidates: [{ agent: "scripted" }, { agent: "scripted", model: "<b>big</b>" }],
  });
  const [one, other] = made.candidates;
  await on(`/tasks/${one!.task_key}`, async ({ page }) => {
    const compared = page.locator(".compared"), row = compared.locator("tbody tr").nth(1);
    await expect.poll(() => compared.locator("summary").textContent(), { timeout: 60_000 })
      .toBe("Compared with 1 other task. Recommendation: None, because omoi has no result of repeated tests of these tasks.");
    await compared.locator("summary").click();
    await expect.poll(() => row.locator("th, td").allTextContents())
      .toEqual(["scripted:<b>big</b>", other!.task_key, "Done", "no result", "unknown", expect.any(String), expect.any(String)]);
    await row.getByRole("link").click();
    await page.waitForURL(`**/tasks/${other!.task_key}`);
  });
});
