import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import { afterAll, beforeAll, expect, test } from "vitest";

import { on, omoi, serve } from "./omoi";

process.env["OMOI_NOTICE_ALLOW_PRIVATE"] = "true"; // the receiver is on this machine
serve();

let receiver: Server, status = 200;
const received: string[] = [], hidden = "of-this-test-0123456789";

beforeAll(async () => {
  receiver = createServer((request, response) => {
    received.push(request.url!);
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
});
afterAll(() => receiver.close());

const host = () => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;

test("notices: create with errors at their fields, test, failures, disable, delete; no secret is shown or kept", async () => {
  await on("/settings?tab=notices", async ({ page, allow }) => {
    allow(/422/);
    await page.getByText("No notice rules yet.").waitFor();
    await page.getByLabel("Address").fill("nowhere");
    await page.getByRole("button", { name: "Create the rule" }).click();
    await page.locator('[data-fault="body.address"]').waitFor();
    await page.getByLabel("Address").fill(`${host()}/services/${hidden}`);
    await page.getByLabel("started").check();
    await page.getByLabel("Project").selectOption("");
    await page.getByRole("button", { name: "Create the rule" }).click();
    const row = page.getByRole("article", { name: `Slack ${host()}/...` });
    await row.getByText("started, needs you, done, failed").waitFor();
    expect(await page.getByLabel("Address").inputValue()).toBe("");
    expect(await page.content()).not.toContain(hidden);
    expect(JSON.stringify(await page.evaluate(() => ({ ...localStorage, ...sessionStorage })))).not.toContain(hidden);

    await row.getByRole("button", { name: "Test" }).click();
    await row.getByRole("status").getByText("delivered").waitFor();
    expect(received).toEqual([`/services/${hidden}`]);
    const task = await omoi.task("Notified", [{ complete: {} }]);
    await omoi.until(task, (t) => t.completed_at !== null);
    await row.getByText("Newest notices").click();
    await expect.poll(() => row.locator("details li").allTextContents(), { timeout: 30_000 }).toEqual([expect.stringMatching(`^${task.key} done .*delivered$`), expect.stringMatching(`^${task.key} started .*delivered$`)]);

    status = 503;
    await row.getByRole("button", { name: "Test" }).click();
    await row.getByRole("status").getByText(/failed: .*503/).waitFor();
    await omoi.task("Not notified", [{ complete: {} }]);
    await expect.poll(() => row.locator("[data-failures]").textContent(), { timeout: 30_000 }).toMatch(/^\d failures? in a row: .*503.*, tried again \d.*, \d pending notices?$/);

    await row.getByRole("button", { name: "Disable" }).click();
    await row.locator(".s-needs", { hasText: "disabled" }).waitFor();
    await row.getByRole("button", { name: "Enable" }).click();
    await row.locator(".s-needs", { hasText: "disabled" }).waitFor({ state: "detached" });
    await row.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("dialog").getByText(/The notices of the rule are deleted, also those that are pending/).waitFor();
    await page.getByRole("button", { name: "Delete the rule" }).click();
    await row.waitFor({ state: "detached" });
    expect((await omoi.call<{ items: unknown[] }>("GET", "/api/v1/notice-rules")).items).toEqual([]);
  });
});

test("a webhook needs a secret, and a rule may be for all users and one project", async () => {
  const project = await omoi.call<{ id: string }>("POST", "/api/v1/projects", { name: "Told", key: "TOLD" });
  await on("/settings?tab=notices", async ({ page, allow }) => {
    allow(/422/);
    expect(await page.getByLabel("Secret").count(), "Slack has none").toBe(0);
    await page.getByLabel("Channel").selectOption("webhook");
    await page.getByLabel("Address").fill(`${host()}/hook`);
    await page.getByLabel("Project").selectOption({ label: "TOLD · Told" });
    await page.getByLabel("Tasks").selectOption("organization");
    await page.getByRole("button", { name: "Create the rule" }).click();
    await page.locator('[data-fault="body.secret"]').waitFor();
    expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-invalid"))).toBe("true");
    await page.getByLabel("Secret").fill(`secret-${hidden}`);
    await page.keyboard.press("Enter");
    await page.getByRole("article", { name: "Webhook" }).getByText("tasks of all users of TOLD").waitFor();
    expect(await page.content()).not.toContain(hidden);
    const { items } = await omoi.call<{ items: object[] }>("GET", "/api/v1/notice-rules");
    expect(items).toMatchObject([{ channel: "webhook", scope: "organization", project_id: project.id, events: ["needs_you", "done", "failed"] }]);
  });
});
