import { execFileSync } from "node:child_process";
import { createHmac, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "playwright-core";
import { expect, test } from "vitest";

import { Omoi, on, serve, sleepForever, type Task } from "./omoi";

const key = "a-first-key-of-this-test-0123456789";
const closed = new Omoi(key);
serve(closed);

/** A login of another system: a JWT for an admin of an organization. */
function login(user: string, org: string): Record<string, string> {
  const part = (of: object) => Buffer.from(JSON.stringify(of)).toString("base64url");
  const body = `${part({ alg: "HS256", typ: "JWT" })}.${part({ sub: user, org, scopes: ["admin"], exp: Math.floor(Date.now() / 1000) + 600, iat: Math.floor(Date.now() / 1000) })}`;
  return { Authorization: `Bearer ${body}.${createHmac("sha256", key).update(body).digest("base64url")}` };
}

/** Sends a request as somebody else than the owner of the first key. */
async function ask<T>(headers: Record<string, string>, path: string, body?: object): Promise<T> {
  const answer = await fetch(closed.url + path, { method: body === undefined ? "GET" : "POST", headers: { "Content-Type": "application/json", ...headers }, body: body && JSON.stringify(body) });
  expect(answer.status, await answer.clone().text()).toBeLessThan(300);
  return (await answer.json()) as T;
}

/** An API key of another organization on the same server. */
async function foreignKey(): Promise<string> {
  const id = randomUUID(), { database_url } = JSON.parse(readFileSync(join(closed.home, "dev.json"), "utf8")) as { database_url: string };
  execFileSync("psql", [database_url, "-qc", `INSERT INTO organizations (id, name) VALUES ('${id}', 'other')`]);
  return (await ask<{ secret: string }>(login("eve", id), "/api/v1/auth/api-keys", { name: "eve", scopes: ["write"] })).secret;
}

/** Keeps the frames of the WebSocket that shows an organization what happens in it. */
async function listen(page: Page, secret: string): Promise<() => Promise<string[]>> {
  await page.evaluate((token) => new Promise<void>((ready) => {
    const kept = window as unknown as { frames: string[] }, socket = new WebSocket(`ws://${location.host}/api/v1/ws/events?token=${token}`);
    kept.frames = [];
    socket.onopen = () => socket.send('{"type": "subscribe", "entity_ids": []}');
    socket.onmessage = ({ data }) => {
      if (/"filters"/.test(String(data))) {
        ready();
      } else {
        kept.frames.push(String(data));
      }
    };
  }), secret);
  return () => page.evaluate(() => (window as unknown as { frames: string[] }).frames);
}

test("18: two people see both messages of one task; another organization sees nothing of it", async () => {
  const task = await closed.task("Shared", [{ say: "Ready." }, { wait_message: { timeout_s: 300 } }, { say: "First: {{message}}" }, { wait_message: { timeout_s: 300 } }, { say: "Second: {{message}}" }, sleepForever]);
  await closed.until(task, (t) => t.status === "running");
  const makes = (name: string) => closed.call<{ secret: string }>("POST", "/api/v1/auth/api-keys", { name, scopes: ["write"] });
  const ann = await makes("ann"), bob = await makes("bob");
  const as = (secret: string) => ({ base: closed.url, extraHTTPHeaders: { "X-API-Key": secret } });
  await on(`/tasks/${task.key}`, async ({ page: first }) => {
    await on(`/tasks/${task.key}`, async ({ page: second }) => {
      for (const [page, text, answer] of [[first, "from ann", "First: from ann"], [second, "from bob", "Second: from bob"]] as const) {
        await page.locator(".composer textarea").fill(text);
        await page.keyboard.press("Control+Enter");
        for (const seen of [first, second]) {
          await seen.locator(".event.person", { hasText: text }).waitFor();
          await seen.locator(".feed").getByText(answer).waitFor();
        }
      }
      for (const page of [first, second]) {
        await page.getByRole("link", { name: "Messages" }).click();
        await expect.poll(() => page.locator(".message .body").allTextContents()).toEqual(expect.arrayContaining(["from ann", "from bob"]));
      }
    }, as(bob.secret));
  }, as(ann.secret));
});

test("18: a key of another organization gets 404 and silent streams", async () => {
  const task = await closed.task("Secret", [{ say: "A secret." }, { wait_message: { timeout_s: 300 } }, { say: "{{message}}" }, sleepForever]);
  const { sandbox_id } = await closed.until(task, (t) => t.status === "running"), eve = await foreignKey();
  await on("/tasks", async ({ page: owner }) => {
    await on(`/tasks/${task.key}`, async ({ page, allow }) => {
      allow(/404/);
      await page.getByRole("heading", { name: `There is no task ${task.key}` }).waitFor();
      expect(await page.textContent("body")).not.toContain("Secret");
      const routes = ["", "/stream?state=true", "/events", "/receipt", "/why"].map((part) => `/api/v1/tasks/${task.id}${part}`);
      const answers = await page.evaluate((all) => Promise.all(all.map(async (url) => {
        const answer = await fetch(url);
        return [answer.status, answer.ok ? "" : await answer.text()] as const; // a stream that is open has no end
      })), [...routes, `/api/v1/sandboxes/${sandbox_id}/events`, `/api/v1/sandboxes/${sandbox_id}/event-range?from=1&to=5`]);
      answers.forEach(([status, text], n) => {
        expect(status, String(n)).toBe(404);
        expect(text).not.toMatch(/^(data|event|id):|secret/m);
      });
      const [seen, hidden] = [await listen(owner, key), await listen(page, eve)];
      await closed.call("POST", `/api/v1/sandboxes/${sandbox_id}/messages`, { content: "for the owner" });
      await expect.poll(async () => (await seen()).some((f) => f.includes(sandbox_id!) || f.includes(task.id))).toBe(true);
      const own = await ask<Task>({ "X-API-Key": eve }, "/api/v1/tasks", { repo: closed.repo, title: "Own", description: "Own", agent: "scripted", execution_config: { script: { steps: [{ complete: {} }] } } });
      await expect.poll(async () => (await hidden()).some((f) => f.includes(own.id))).toBe(true); // frames come in order: the others would have come before
      expect((await hidden()).filter((f) => f.includes(task.id) || f.includes(sandbox_id!))).toEqual([]);
    }, { base: closed.url, extraHTTPHeaders: { "X-API-Key": eve } });
  }, { base: closed.url, extraHTTPHeaders: { "X-API-Key": key } });
});
