import { expect, test } from "vitest";

import { on, Omoi, serve, signedIn, signIn, type Task } from "./omoi";

const key = "a-first-key-of-this-test-0123456789";
const closed = new Omoi(key);
serve(closed);

interface Made { id: string; secret: string }
interface Project { id: string; key: string; name: string; paused: boolean; max_concurrent_tasks: number; settings: Record<string, unknown> }

const makeKey = (name: string, scope: string) => closed.call<Made>("POST", "/api/v1/auth/api-keys", { name, scopes: [scope] });
const projects = async (): Promise<Project[]> => (await closed.call<{ items: Project[] }>("GET", "/api/v1/projects")).items;

/** Opens a path as the owner of a key. */
const as = (secret: string, path: string, act: Parameters<typeof on>[1]) => signedIn(closed, secret, path, act);

test("projects: create, edit with errors at their fields, pause, resume, delete with the server's preview", async () => {
  await as(key, "/settings?tab=projects", async ({ page, allow }) => {
    allow(/422/);
    await page.getByRole("link", { name: "New project" }).click();
    await page.getByLabel("Repository").fill("/nowhere");
    await page.getByLabel("Key").fill("1");
    await page.getByRole("button", { name: "Create the project" }).click();
    await page.locator('[data-fault="body.repo"]').waitFor();
    expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-invalid"))).toBe("true");
    await page.getByLabel("Repository").fill(closed.repo);
    await page.getByLabel("Key").fill("web");
    await page.getByRole("button", { name: "Create the project" }).click();
    const row = page.getByRole("article", { name: "WEB" });
    await row.getByRole("link", { name: "Edit" }).click();
    await page.getByLabel("Concurrency limit").fill("2");
    await page.getByLabel("Validate the work of tasks").selectOption("true");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await row.getByText("at most 2 tasks at once").waitFor();
    expect((await projects())[0]).toMatchObject({ key: "WEB", max_concurrent_tasks: 2, settings: { validate: true } });

    await row.getByRole("link", { name: "Edit" }).click();
    await page.getByLabel("USD").fill("12.5");
    await page.getByRole("button", { name: "Save the budget" }).click();
    await expect.poll(async () => (await closed.call<{ budget: { usd?: number } }>("GET", "/api/v1/projects/WEB/budget")).budget.usd).toBe(12.5);
    await page.getByRole("button", { name: "Go back" }).click();

    await row.getByRole("button", { name: "Pause…" }).click();
    await page.getByRole("button", { name: "Pause the project" }).click();
    await page.locator("[data-receipt=done]", { hasText: "Pause WEB" }).waitFor();
    await row.locator(".s-needs", { hasText: "paused" }).waitFor();
    const task = await closed.task("Waits", [{ complete: {} }], { project_id: "WEB", repo: undefined });
    await row.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("dialog").getByRole("link", { name: "Waits" }).waitFor();
    expect(await page.getByRole("button", { name: "Delete the project" }).isDisabled()).toBe(true);
    await page.keyboard.press("Escape");
    await row.getByRole("button", { name: "Resume…" }).click();
    await page.getByRole("button", { name: "Resume the project" }).click();
    await closed.until(task, (t: Task) => t.completed_at !== null);
    await expect.poll(async () => {
      const box = await closed.call<{ items: unknown[] }>("GET", "/api/v1/sandboxes?unverified=true");
      return box.items.length;
    }, { timeout: 60_000 }).toBe(0);
    await row.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("dialog").getByText("1 task and 1 ticket are kept").waitFor();
    await page.getByRole("button", { name: "Delete the project" }).click();
    await row.waitFor({ state: "detached" });
    expect(await projects()).toEqual([]);
  });
});

test("credentials: set, test, replace, delete; the secret is never shown or kept", async () => {
  const secret = "sk-ant-api03-of-this-test-0123456789";
  await as(key, "/settings?tab=credentials", async ({ page, allow }) => {
    allow(/422/);
    const row = page.getByRole("article", { name: "anthropic of user" });
    await page.getByLabel("Secret").fill("short");
    await page.getByRole("button", { name: "Set the credential" }).click();
    await page.locator('[data-fault="body.secret"]').waitFor();
    await page.getByLabel("Secret").fill(secret);
    await page.getByText("More settings").click();
    await page.getByLabel("URL of a compatible endpoint").fill("http://127.0.0.1:9/");
    await page.getByRole("button", { name: "Set the credential" }).click();
    await row.waitFor();
    expect(await page.getByLabel("Secret").inputValue()).toBe("");
    expect(await page.content()).not.toContain(secret);
    expect(JSON.stringify(await page.evaluate(() => ({ ...localStorage, ...sessionStorage })))).not.toContain(secret);
    await row.getByRole("button", { name: "Test" }).click();
    await row.getByText("unknown").waitFor(); // the server asks no address of its own network
    await page.getByLabel("Secret").fill("sk-ant-api03-the-second-0123456789");
    await page.getByLabel("Number").fill("2");
    await page.getByRole("button", { name: "Set the credential" }).click();
    const second = page.getByRole("article", { name: "anthropic 2 of user" });
    await second.getByRole("button", { name: "Test" }).click();
    await second.getByText("(anthropic 2 of you)").waitFor();
    await second.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("button", { name: "Delete the credential" }).click();
    await second.waitFor({ state: "detached" });
    await row.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("button", { name: "Delete the credential" }).click();
    await row.waitFor({ state: "detached" });
    expect((await closed.call<{ items: unknown[] }>("GET", "/api/v1/credentials")).items).toEqual([]);
  });
});

test("API keys: the secret is shown once, works, and ends with the key", async () => {
  await as(key, "/settings?tab=keys", async ({ page }) => {
    await page.getByLabel("Name").fill("ci");
    await page.getByLabel("Scope").selectOption("read");
    await page.getByRole("button", { name: "Create the key" }).dblclick();
    const secret = (await page.locator("[data-secret]").textContent())!;
    const ask = async () => (await fetch(`${closed.url}/api/v1/tasks`, { headers: { "X-API-Key": secret } })).status;
    expect(await ask()).toBe(200);
    const row = page.getByRole("article", { name: "ci", exact: true });
    expect(await row.count()).toBe(1);
    await page.getByRole("button", { name: "Done" }).click();
    expect(await page.content()).not.toContain(secret);
    await row.getByRole("button", { name: "Revoke…" }).click();
    await page.getByRole("button", { name: "Revoke the key" }).click();
    await row.getByText("revoked").waitFor();
    expect(await ask()).toBe(401);
  });
});

test("a key that reads sees no control that the server would refuse", async () => {
  const viewer = await makeKey("viewer", "read");
  await closed.call("POST", "/api/v1/projects", { name: "Seen", key: "SEEN" });
  await as(viewer.secret, "/settings", async ({ page }) => {
    for (const path of ["?tab=projects", "?tab=projects&project=SEEN", "?tab=credentials", "?tab=notices", "?tab=keys"]) {
      await page.goto(`${closed.url}/settings${path}`);
      await page.getByText(/SEEN|No credentials yet|No notice rules yet|need the scope admin/).first().waitFor();
      expect(await page.locator("main button, main input, main select, main a.button").count(), path).toBe(0);
    }
    expect(await page.getByRole("link", { name: "API keys" }).count()).toBe(0);
    expect(await page.getByRole("link", { name: "New task" }).count()).toBe(0);
    await page.goto(`${closed.url}/tasks/new`);
    await page.getByText("Your key reads only.").waitFor();
  });
});

test("a key that writes sees no control of admins", async () => {
  const writer = await makeKey("writer", "write");
  await as(writer.secret, "/settings?tab=projects", async ({ page }) => {
    await page.getByRole("article", { name: "SEEN" }).getByRole("button", { name: "Pause…" }).waitFor();
    expect(await page.getByRole("button", { name: "Delete…" }).count()).toBe(0);
    await page.getByRole("link", { name: "Credentials" }).click();
    await page.getByLabel("Owner").waitFor();
    expect(await page.getByLabel("Owner").locator("option").allTextContents()).toEqual(["You"]);
  });
});

test("11: the draft survives the end of the session and a login", async () => {
  const writer = await makeKey("author", "write");
  await as(writer.secret, "/tasks/new", async ({ page }) => {
    await page.getByLabel("What should the agent do?").fill("Draft that stays");
    await page.getByLabel("Project", { exact: true }).selectOption({ label: "SEEN · Seen" });
    await page.getByLabel("Agent", { exact: true }).selectOption("scripted");
    await page.getByLabel("Script", { exact: true }).fill('{"steps": [{"complete": {}}]}');
    await closed.call("DELETE", `/api/v1/auth/api-keys/${writer.id}`);
    await page.keyboard.press("Control+Enter");
    await page.getByRole("dialog", { name: "Sign in" }).waitFor();
    await page.reload();
    await signIn(page, key);
    expect(await page.getByLabel("What should the agent do?").inputValue()).toBe("Draft that stays");
    await page.getByRole("button", { name: "Create task" }).click();
    await page.locator(".task-title", { hasText: "Draft that stays" }).waitFor();
    const made = (await closed.call<{ items: Task[] }>("GET", "/api/v1/tasks?q=Draft")).items;
    expect(made).toHaveLength(1);
  });
});
