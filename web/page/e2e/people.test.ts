import { createHmac } from "node:crypto";

import { expect, test } from "vitest";

import { Omoi, on, serve, sleepForever } from "./omoi";

const key = "a-first-key-of-this-test-0123456789";
const closed = new Omoi(key);
serve(closed);

/** A login of another system: a JWT for a user of an organization. */
function login(user: string, org?: string): Record<string, string> {
  const part = (of: object) => Buffer.from(JSON.stringify(of)).toString("base64url");
  const body = `${part({ alg: "HS256", typ: "JWT" })}.${part({ sub: user, exp: Math.floor(Date.now() / 1000) + 600, iat: Math.floor(Date.now() / 1000), ...(org && { org }) })}`;
  return { Authorization: `Bearer ${body}.${createHmac("sha256", key).update(body).digest("base64url")}` };
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
  await on(`/tasks/${task.key}`, async ({ page, allow }) => {
    allow(/40[134]/);
    await page.locator("main [role=alert], dialog[open]").first().waitFor();
    expect(await page.textContent("body")).not.toContain("Shared");
    const answers = await page.evaluate((id) => Promise.all(["", "/stream?state=true", "/events"].map(async (part) => (await fetch(`/api/v1/tasks/${id}${part}`)).status)), task.id);
    answers.forEach((status) => expect([401, 403, 404]).toContain(status));
  }, { base: closed.url, extraHTTPHeaders: login("eve", "0199a1c0-0000-7000-8000-0000000000ff") });
});
