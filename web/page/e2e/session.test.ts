import { expect, test } from "vitest";

import { fact, on, Omoi, serve, sleepForever } from "./omoi";

process.env["OMOI_CHECKPOINT_INTERVAL"] = "1s";
const key = "a-first-key-of-this-test-0123456789";
const closed = new Omoi(key);
serve(closed);

interface Key { id: string; secret: string }

test("an API key signs in, in place; a key with the scope read sees no buttons; the session ends with the key", async () => {
  const viewer = await closed.call<Key>("POST", "/api/v1/auth/api-keys", { name: "viewer", scopes: ["read"] });
  const task = await closed.task("Secret work", [{ say: "I work." }, { write: { path: "secret.md", content: "a secret line\n" } }, sleepForever]);
  await closed.until(task, (t) => t.status === "running");
  await on(`/tasks/${task.key}`, async ({ page, allow }) => {
    allow(/401|404/); // no login yet; no files yet
    allow(/ERR_FAILED.*session/); // the first sign-out
    const dialog = page.getByRole("dialog", { name: "Sign in" });
    await dialog.waitFor();
    expect(await page.textContent("body")).not.toContain("Secret work");
    for (let n = 0; n < 3; n++) {
      await page.keyboard.press("Escape"); // there is nothing to go back to
    }
    await dialog.getByLabel("API key").fill("wrong");
    await page.keyboard.press("Enter");
    const refusal = await fetch(`${closed.url}/api/v1/session`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ key: "wrong" }) });
    expect(await dialog.getByRole("alert").textContent()).toBe(((await refusal.json()) as { detail: string }).detail);
    await dialog.getByLabel("API key").fill(viewer.secret);
    await page.keyboard.press("Enter");
    await page.getByText("I work.").waitFor();
    await dialog.waitFor({ state: "detached" });
    await fact(page, "conn", "live");
    expect(await page.evaluate(() => document.cookie)).toBe("");
    expect(JSON.stringify(await page.evaluate(() => ({ ...localStorage, ...sessionStorage })))).not.toContain(viewer.secret);
    const [cookie] = await page.context().cookies(`${closed.url}/api/v1/tasks`);
    expect([cookie?.httpOnly, cookie?.sameSite]).toEqual([true, "Strict"]);
    expect(cookie?.value).not.toContain(viewer.secret);
    expect(await page.getByRole("button", { name: /Cancel|Suspend|Send|More/ }).count()).toBe(0);

    await page.getByRole("link", { name: "Changes", exact: true }).click();
    await page.locator(".review h1", { hasText: "Secret work" }).waitFor();
    await page.locator(".dl", { hasText: "a secret line" }).waitFor();
    expect(await page.getByRole("button", { name: /Approve|Request|Send|Comment/ }).count()).toBe(0);
    await page.goBack();
    await fact(page, "conn", "live");

    await closed.call("DELETE", `/api/v1/auth/api-keys/${viewer.id}`);
    await dialog.waitFor();
    await page.getByText("I work.").waitFor(); // what is shown stays
    await dialog.getByLabel("API key").fill(key);
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await fact(page, "conn", "live");
    await page.getByRole("button", { name: "Cancel…" }).waitFor();
    await page.getByLabel("Message to the agent").fill("a draft of mine");
    await page.goto(`${closed.url}/settings`);
    await page.getByLabel("Dark").check();
    const kept = (): Promise<string> => page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
    expect(await kept()).toMatch(/omoi\.looked.*a draft of mine/);
    await page.route("**/api/v1/session", (route) => (route.request().method() === "DELETE" ? route.abort() : route.continue()));
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("alert").getByText("You are still signed in").waitFor();
    expect(await kept()).toContain("a draft of mine");
    await page.unrouteAll();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForFunction(() => Object.keys(sessionStorage).length === 0);
    await dialog.waitFor();
    expect(JSON.parse(await kept())).toEqual({ "omoi.theme": "dark" });
    expect(await page.context().cookies(`${closed.url}/api/v1/tasks`)).toEqual([]);
  }, { base: closed.url });
});

test("a key with the scope read sees the fleet without a button, and asks for nothing that answers 403", async () => {
  const viewer = await closed.call<Key>("POST", "/api/v1/auth/api-keys", { name: "watcher", scopes: ["read"] });
  await on("/fleet", async ({ page, allow }) => {
    allow(/401/); // a 403 fails the test
    const dialog = page.getByRole("dialog", { name: "Sign in" });
    await dialog.getByLabel("API key").fill(viewer.secret);
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await page.getByText("Only an API key with the scope admin shows hosts.").waitFor();
    for (const view of ["Supervision", "Interventions", "Guardian actions", "Usage", "Server", "Queue", "Sandboxes", "Capacity"]) {
      await page.getByRole("navigation", { name: /Views|Records/ }).getByRole("link", { name: view, exact: true }).click();
      await page.waitForFunction(() => document.querySelector("main table, main .message") !== null && !document.body.textContent!.includes("Loading…"));
      expect(await page.locator("main button").count(), view).toBe(0);
    }
  }, { base: closed.url });
});

test("a server without login that other machines reach says so on every page", async () => {
  const open = new Omoi("", { OMOI_API_CALLBACK_URL: "http://omoi.test" }); // a proxy in front of it makes it reachable by this name
  await open.start();
  try {
    for (const path of ["/tasks", "/settings"]) {
      await on(path, async ({ page, allow }) => {
        allow(/Cross-Origin-Opener-Policy/); // over plain HTTP browsers ignore it
        await page.locator(".banner.bad", { hasText: "This server asks for no login, and other machines reach it. Next: enable authentication." }).waitFor();
      }, { base: `http://omoi.test:${new URL(open.url).port}` });
    }
    await on("/settings", async ({ page }) => {
      await page.getByText("disabled: every user of this machine has access").waitFor();
      expect(await page.locator(".banner").count()).toBe(0);
    }, { base: open.url });
  } finally {
    await open.stop();
  }
});
