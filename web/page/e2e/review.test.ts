import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";

import { on, omoi, serve, sleepForever, type Task } from "./omoi";

process.env["OMOI_CHECKPOINT_INTERVAL"] = "1s";
serve();

const git = (...args: string[]) => execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.com", ...args], { cwd: omoi.repo });
const commit = { bash: { command: "git add -A && git -c user.name=a -c user.email=a@example.com commit -qm work" } };
const [first, second, third] = ["1", "2", "3"].map((digit) => digit.repeat(40)) as [string, string, string]; // commits of a submodule's repository
const hostile = "<img src=x onerror=alert(1)>.md", bidi = "a\u202egpj.exe", newline = "two\nlines.txt", quoted = "\"q\" 'r' \\.txt";

/** What the repository holds before the task, and what the task does to it. */
const before: Record<string, string | Buffer> = {
  "gone.txt": "one\ntwo\n", "old name.txt": "a\nb\nc\nd\ne\nf\n", "run.sh": "#!/bin/sh\necho hi\n", "logo.bin": Buffer.from([0, 1, 2, 3]), "dos.txt": "one\r\ntwo\r\n", "end.txt": "one\ntwo",
  "mixed.txt": "one\r\ntwo\n", "latin.txt": Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a]), "many.txt": Array.from({ length: 50_000 }, (_, n) => `line ${n}\n`).join(""), "space.txt": "a b\n", "link": "x",
};
const work = `
set -e
rm gone.txt; git mv 'old name.txt' 'new name.txt'; chmod +x run.sh; printf '\\000\\001\\377' > logo.bin; printf 'one\\r\\n2\\r\\n' > dos.txt; printf 'one\\ntwo\\nthree' > end.txt
printf 'one\\ntwo\\n' > mixed.txt; printf 'caf\\351s\\n' > latin.txt; sed -i 's/line/row/' many.txt; printf 'a  b\\n' > space.txt; rm link; ln -s run.sh link
mkdir -p deep/er/est; printf 'func main() {}\\n' > deep/er/est/x.go; : > empty.txt
mkdir -p vendor/lib vendor/new; git update-index --add --cacheinfo 160000,${second},vendor/lib --cacheinfo 160000,${third},vendor/new; git rm -q --cached vendor/gone
head -c 1048576 /dev/zero | tr '\\0' x > long.txt; echo >> long.txt
printf 'x\\n' > '${hostile}'; printf 'x\\n' > "$(printf 'a\\342\\200\\256gpj.exe')"; printf 'x\\n' > "$(printf 'two\\nlines.txt')"; printf 'x\\n' > "\\"q\\" 'r' \\\\.txt"`;

let all: Task;

beforeAll(async () => {
  for (const [name, content] of Object.entries(before)) {
    mkdirSync(dirname(join(omoi.repo, name)), { recursive: true });
    writeFileSync(join(omoi.repo, name), content);
  }
  git("add", "-A");
  git("update-index", "--add", "--cacheinfo", `160000,${first},vendor/lib`, "--cacheinfo", `160000,${first},vendor/gone`);
  git("commit", "-qm", "more");
  all = await omoi.task("All kinds of changes", [{ bash: { command: work } }, commit, { complete: { output: "Done." } }]);
  all = await omoi.until(all, (t) => t.completed_at !== null);
  expect(all.status).toBe("completed");
}, 90_000);

const lines = (page: Page) => page.$$eval(".pane .dl code", (all) => all.map((e) => e.textContent));
const shown = (page: Page, path: string) => page.waitForFunction((p) => document.querySelector<HTMLElement>(".pane")?.dataset["shown"] === p, path, { timeout: 60_000 }); // a sandbox may start slowly

/** Opens a file of a review, and returns its notes and lines. */
async function file(page: Page, path: string): Promise<{ notes: (string | null)[]; lines: (string | null)[] }> {
  await page.goto(`${omoi.url}/tasks/${all.key}/changes?${new URLSearchParams({ path: JSON.stringify(path), split: "false" })}`);
  await shown(page, path);
  return { notes: await page.$$eval(".pane-head > p", (all) => all.map((e) => e.textContent)), lines: await lines(page) };
}

test("14: every kind of change is shown in words and lines", async () => {
  await on(`/tasks/${all.key}/changes`, async ({ page }) => {
    page.on("dialog", () => { throw new Error("a script ran"); });
    await page.locator(".file-row").first().waitFor();
    expect((await file(page, "gone.txt")).lines).toEqual(["-removed one", "-removed two"]);
    expect(await page.textContent(".pane-head")).toContain("Deleted");
    expect(await file(page, "new name.txt")).toEqual({ notes: ["The content is the same."], lines: [] });
    expect(await page.textContent(".pane-head h2")).toBe("old name.txt → new name.txt");
    expect(await file(page, "run.sh")).toEqual({ notes: ["The file is now executable (mode 100755).", "The content is the same."], lines: [] });
    expect(await file(page, "logo.bin")).toEqual({ notes: ["Binary file: 4 B → 3 B."], lines: [] });
    expect(await file(page, "dos.txt")).toEqual({ notes: ["Lines end in CRLF."], lines: [" one", "-removed two", "+added 2"] });
    expect((await file(page, "mixed.txt")).lines).toEqual(["-removed oneCR", "+added one", " two"]);
    expect((await file(page, "end.txt")).lines).toEqual([" one", "-removed two", "no newline at the end of the file", "+added two", "+added three", "no newline at the end of the file"]);
    expect(await file(page, "latin.txt")).toEqual({ notes: ["Bytes that are not UTF-8 are shown as �."], lines: ["-removed caf�", "+added caf�s"] });
    expect((await file(page, "link")).notes).toEqual(["Was a file, is a symbolic link now."]);
    expect(await file(page, "vendor/lib")).toEqual({ notes: ["Submodule: commit 1111111111 → commit 2222222222."], lines: [] });
    expect(await file(page, "vendor/new")).toEqual({ notes: ["New submodule.", "Submodule: none → commit 3333333333."], lines: [] });
    expect(await file(page, "vendor/gone")).toEqual({ notes: ["Submodule: commit 1111111111 → none."], lines: [] });
    expect((await file(page, "empty.txt")).notes).toEqual(["The file is empty."]);
    expect((await file(page, "deep/er/est/x.go")).lines).toEqual(["+added func main() {}"]);
    await page.locator(".t-k", { hasText: "func" }).waitFor();
    const [long] = (await file(page, "long.txt")).lines;
    expect(long).toMatch(/^\+added x{4095} … the line has 1\.0 MiB, and this is its beginning$/);
    for (const name of [hostile, bidi, newline, quoted]) {
      expect((await file(page, name)).lines, name).toEqual(["+added x"]);
      expect(await page.locator(".pane-head h2").textContent()).toBe(name.replace("\u202e", "U+202E"));
    }
    expect(await page.locator("main img, main script").count()).toBe(0);
  });
});

test("14: 50,000 changed lines come in parts, and few elements are mounted", async () => {
  await on(`/tasks/${all.key}/changes`, async ({ page }) => {
    await file(page, "many.txt");
    expect(await page.textContent(".file-row[title='many.txt']")).toContain("+50,000 −50,000");
    const of = () => page.$eval(".pane", (e) => Number((e as HTMLElement).dataset["lines"]));
    expect(await of()).toBeLessThanOrEqual(2001);
    expect(await page.locator(".pane *").count()).toBeLessThan(1500);
    const box = page.locator(".pane .feed");
    await box.evaluate((e) => { e.scrollTop = e.scrollHeight; });
    await page.getByRole("button", { name: "Show the next 2,000 lines" }).click();
    await page.waitForFunction(() => Number(document.querySelector<HTMLElement>(".pane")!.dataset["lines"]) > 3000);
    expect(await page.locator(".pane *").count()).toBeLessThan(1500);
    const numbers = await page.$$eval(".pane .dl", (all) => all.map((e) => Number(e.querySelector(".num")!.textContent)));
    expect(numbers.filter((n) => n > 0).every((n, at, list) => at === 0 || n === list[at - 1]! + 1)).toBe(true);
  });
});

test("14: the address keeps the view; whitespace, context, split; n and p go through all changes", async () => {
  await on(`/tasks/${all.key}/changes`, async ({ page }) => {
    await file(page, "space.txt");
    await page.getByRole("link", { name: "Ignore whitespace" }).click();
    await page.getByText("Only whitespace differs.").waitFor();
    await page.goBack();
    await expect.poll(() => lines(page)).toEqual(["-removed a b", "+added a  b"]);
    await page.keyboard.press("s");
    await page.locator(".dl.split").waitFor();
    expect(await page.$$eval(".dl.split .half", (all) => all.map((e) => e.querySelector("code")!.textContent))).toEqual(["-removed a b", "+added a  b"]);
    await page.keyboard.press("s");
    await page.locator(".dl:not(.split)").first().waitFor();
    const order = await page.$$eval(".file-row[href]", (all) => all.map((e) => e.getAttribute("title")));
    await file(page, "dos.txt");
    await page.keyboard.press("n");
    await page.locator(".now", { hasText: "two" }).waitFor();
    await page.keyboard.press("n");
    await shown(page, order[order.indexOf("dos.txt") + 1]!);
    await page.keyboard.press("p");
    await shown(page, "dos.txt");
    await page.getByLabel("From").selectOption("attempt-1");
    await page.getByText("No file differs between these two.").waitFor();
    expect(page.url()).toContain("from=attempt-1");
    await page.reload();
    await page.getByText("No file differs between these two.").waitFor();
  });
});

test("comments on lines reach a running agent as one message", async () => {
  const task = await omoi.task("Limit", [{ write: { path: "limit.go", content: "package main\n\nvar limit = 30\n" } }, { wait_message: { timeout_s: 300 } }, { edit: { path: "limit.go", old: "30", new: "60" } }, { say: "Changed." }, sleepForever]);
  await on(`/tasks/${task.key}/changes`, async ({ page, allow }) => {
    allow(/404/); // no files yet
    await shown(page, "limit.go");
    await page.getByText("To comment on a line, choose its +.").waitFor();
    const line = page.locator(".dl", { hasText: "var limit = 30" }), number = (await line.getByRole("button").last().boundingBox())!;
    expect(await line.getByRole("button").last().evaluate((e) => getComputedStyle(e, "::before").content)).toBe('"+"'); // before the pointer is there
    await page.mouse.click(number.x + 8, number.y + 10); // the + beside the number
    await page.keyboard.type("60, <b>please</b>");
    await page.keyboard.press("Control+Enter");
    await page.reload();
    await page.locator("[data-draft='limit.go:3']", { hasText: "60, <b>please</b>" }).waitFor();
    await page.getByRole("button", { name: "Comment on the file" }).click();
    await page.keyboard.type("And a test");
    await page.getByRole("button", { name: "Add comment" }).click();
    await page.getByRole("button", { name: "Send 2 comments to the agent…" }).click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.textContent()).toContain("The agent waits, and gets all comments now, as one message.");
    await dialog.getByRole("button", { name: "Send 2 comments" }).dblclick();
    await page.locator("[data-message=acknowledged], [data-message=answered]").waitFor();
    expect(await page.locator("[data-draft]").count()).toBe(0);
    const used = (await omoi.events(task)).filter((e) => e.event_type === "agent.message_injected").map((e) => (e.event_data as { content: string }).content);
    expect(used.length).toBe(1);
    expect(used[0]).toContain("60, <b>please</b>");
    expect(used[0]).toContain("limit.go");
    expect(used[0]).toContain("And a test");
    await page.getByText("These are older files").waitFor();
    await page.getByRole("button", { name: "Show the newest" }).click(); // the agent's change is offered, and shown when asked for
    await page.locator(".dl", { hasText: "var limit = 60" }).waitFor();
  });
});

const wait = { wait_message: { timeout_s: 300 } };
const twoWrites = [{ write: { path: "two.go", content: "package main\n" } }, wait, { write: { path: "other.go", content: "package main\n" } }, wait];

/** Opens the comparisons with two checkpoints of twoWrites, and comments on a line of each. */
async function commentOnTwo(page: Page, task: Task): Promise<[string, string]> {
  const taken = async (files: number) => (await omoi.call<{ items: { id: string; files: number }[] }>("GET", `/api/v1/tasks/${task.id}/checkpoints`)).items.find((c) => c.files === files)?.id;
  await expect.poll(() => taken(1), { timeout: 60_000 }).toBeDefined();
  await tell(task, "go on");
  await expect.poll(() => taken(2), { timeout: 60_000 }).toBeDefined();
  const [one, other] = [(await taken(1))!, (await taken(2))!];
  for (const id of [one, other]) {
    await page.goto(`${omoi.url}/tasks/${task.key}/changes?path=two.go&to=checkpoint-${id}`);
    await page.getByRole("button", { name: "Comment on line 1 of the new file" }).click();
    await page.keyboard.type(`seen in ${id}.`);
    await page.keyboard.press("Control+Enter");
    await page.locator("[data-draft]", { hasText: `seen in ${id}.` }).getByRole("button", { name: "Edit" }).waitFor();
  }
  return [one, other];
}

const tell = async (task: Task, content: string): Promise<void> => omoi.call("POST", `/api/v1/sandboxes/${(await omoi.read(task)).sandbox_id}/messages`, { content });

test("comments on two comparisons are two messages, each with its receipt", async () => {
  const task = await omoi.task("Two comparisons", [...twoWrites, { say: "One." }, wait, { say: "Two." }, sleepForever]);
  await on(`/tasks/${task.key}`, async ({ page }) => {
    const ids = await commentOnTwo(page, task);
    await page.getByRole("button", { name: "Send 2 comments to the agent…" }).click();
    await page.getByRole("button", { name: "Send 2 comments", exact: true }).click();
    await page.locator("[data-message=acknowledged], [data-message=answered]").nth(1).waitFor({ timeout: 40_000 });
    expect((await page.locator("[data-receipt]").allTextContents()).map((text) => text.replace(/: asked [\d:]+/, ""))).toEqual(ids.map((id) => `Send 1 comment on base → checkpoint-${id} → one message to the agent`));
    const used = (await omoi.events(task)).filter((e) => e.event_type === "agent.message_injected").map((e) => (e.event_data as { content: string }).content).filter((text) => text.includes("seen in"));
    expect(used.map((text) => ids.filter((id) => text.includes(`seen in ${id}.`)))).toEqual(ids.map((id) => [id]));
  });
});

test("a comparison whose comments the server refuses keeps the receipt of the one before, and its own comments", async () => {
  const task = await omoi.task("Half", [...twoWrites, commit, { complete: {} }]);
  await on(`/tasks/${task.key}`, async ({ page, allow }) => {
    const [one, other] = await commentOnTwo(page, task);
    await tell(task, "complete");
    await omoi.until(task, (t) => t.completed_at !== null);
    allow(/503/);
    await page.route("**/comments", (route) => (route.request().postData()!.includes(`"to":"${other}"`)
      ? route.fulfill({ status: 503, contentType: "application/problem+json", json: { status: 503, title: "Unavailable", detail: "Not now." } }) : route.continue()));
    await page.getByRole("button", { name: "Send 2 comments to the agent…" }).click();
    await page.getByRole("button", { name: "Send 2 comments", exact: true }).click();
    await page.locator("[data-receipt=refused]", { hasText: `Send 1 comment on base → checkpoint-${other}` }).waitFor();
    await page.locator("[data-receipt]", { hasText: `Send 1 comment on base → checkpoint-${one}` }).getByRole("link").waitFor();
    await page.getByRole("button", { name: "Send 1 comment to the agent…" }).waitFor();
    await page.unrouteAll();
  });
});

test("comments on the work of a completed task start a new task", async () => {
  const task = await omoi.task("Ended", [{ write: { path: "end.md", content: "x\n" } }, commit, { complete: {} }]);
  await omoi.until(task, (t) => t.completed_at !== null);
  await on(`/tasks/${task.key}/changes?path=end.md&split=false`, async ({ page }) => {
    await shown(page, "end.md");
    await page.keyboard.press("n");
    await page.keyboard.press("Enter");
    await page.keyboard.type("y instead");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("button", { name: "Send 1 comment to the agent…" }).click();
    await page.getByRole("button", { name: "Send 1 comment", exact: true }).click();
    const link = page.locator("[data-receipt] a");
    const next = (await link.getAttribute("href"))!.split("/").at(-1)!;
    const started = await omoi.call<Task>("GET", `/api/v1/tasks/${next}`);
    expect([next, await link.textContent()]).toEqual([started.key, started.key]);
    expect(started.description).toContain("y instead");
    expect(started.branch_name).toBe((await omoi.read(task)).branch_name);
    expect(await page.locator("[data-draft]").count()).toBe(0);
    await link.click();
    await page.getByText(`continues ${task.key}`).getByRole("link").click();
    await page.getByText(`continued by ${next}`).waitFor();
  });
});

test("request changes starts a revision with the comments, approve publishes, and the server's refusal is shown", async () => {
  const steps = [{ write: { path: "v.md", content: "x\n" } }, commit, sleepForever];
  const task = await omoi.task("Verdict", steps);
  await on(`/tasks/${task.key}/changes?path=v.md&split=false`, async ({ page, allow }) => {
    allow(/404/);
    await shown(page, "v.md");
    await page.getByRole("button", { name: "Comment on line 1 of the new file" }).click();
    await page.keyboard.type("not x");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("button", { name: "Request changes…" }).click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.textContent()).toContain("With your comment on lines.");
    expect(await dialog.textContent()).toContain("To keep the attempt running, go back and choose Send 1 comment to the agent.");
    await dialog.getByRole("button", { name: "Request changes", exact: true }).dblclick();
    await page.locator("[data-receipt=carried_out]").waitFor();
    const second = await omoi.until(task, (t) => t.attempt_count === 2 && t.status === "running");
    expect(second.validation_reviews.map((r) => [r.passed, r.feedback, r.recommendations])).toEqual([[false, "See the comments on lines.", ["v.md:1: not x"]]]);
    expect(await page.locator("[data-draft]").count()).toBe(0);
    await page.getByRole("link", { name: /^Tests/ }).click();
    await page.locator("[data-passed=false]", { hasText: "not x" }).waitFor();
    await page.getByRole("button", { name: "Approve…" }).click();
    expect(await page.getByRole("dialog").textContent()).toContain("published as it is");
    await page.getByRole("button", { name: "Approve the work" }).click();
    await page.locator(".task-title .status", { hasText: "Done" }).waitFor();
    await page.locator("[data-receipt=carried_out]", { hasText: "Approve" }).waitFor();
    expect(await page.getByRole("button", { name: "Approve…" }).count()).toBe(0);
  });
  const other = await omoi.task("Moved on", [{ write: { path: "v.md", content: "x\n" } }, commit, sleepForever]);
  await on(`/tasks/${other.key}/changes`, async ({ page, allow }) => {
    allow(/404|409/);
    await shown(page, "v.md");
    await page.getByRole("button", { name: "Request changes…" }).click();
    const changes = page.getByRole("dialog"), yes = changes.getByRole("button", { name: "Request changes", exact: true });
    expect(await yes.isDisabled()).toBe(true); // without a comment and without a text
    await changes.getByRole("textbox").fill("The greeting is missing");
    expect(await yes.isDisabled()).toBe(false);
    await changes.getByRole("button", { name: "Go back" }).click();
    await page.getByRole("button", { name: "Approve…" }).click();
    await omoi.call("POST", `/api/v1/tasks/${other.id}/cancel`, {});
    await omoi.until(other, (t) => t.completed_at !== null);
    await page.getByRole("button", { name: "Approve the work" }).click();
    await page.locator("[data-receipt=refused], [data-receipt=too_late]", { hasText: "cancelled" }).waitFor();
  });
});

test("the test that failed is found with its command and output, and what the agent did next is one click away", async () => {
  const validator = { agent: "scripted", script: { steps: [{ verdict: { command: "cat greeting.md; grep -q Hello greeting.md", feedback: "greeting.md lacks Hello" } }] } };
  const task = await omoi.task("Greet", [{ write: { path: "greeting.md", content: "Good day\n" } }, commit, { complete: {} }], { validate: true, execution_config: { script: { steps: [{ write: { path: "greeting.md", content: "Good day\n" } }, commit, { complete: {} }] }, validator } });
  await omoi.until(task, (t) => t.validation_reviews.length > 0 && t.attempt_count > 2);
  await on(`/tasks/${task.key}/changes`, async ({ page }) => {
    await page.getByRole("link", { name: /^Tests/ }).click();
    const failed = page.locator("[data-passed=false]").last();
    expect(await failed.textContent()).toContain("cat greeting.md; grep -q Hello greeting.md");
    expect(await failed.locator("pre").textContent()).toBe("Good day\n");
    await failed.getByRole("link", { name: /^What the agent did next/ }).click();
    await page.waitForURL(/\/tasks\/[^/]+\?attempt=3/);
  });
});

test("a pull request that GitHub refuses to open is shown in the words of the server", async () => {
  await on(`/tasks/${all.key}/changes`, async ({ page }) => {
    await page.route(`**/api/v1/tasks/${all.key}`, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, json: { ...(await answer.json()), repo: "octo/app", pull_request_url: null, pull_request_number: null } });
    });
    await page.route("**/branch-workflow/finish", (route) => route.fulfill({ json: { success: false, pr_number: null, pr_url: null, error: "GitHub <b>refused</b>." } }));
    await page.reload();
    await page.getByRole("button", { name: "Open pull request…" }).click();
    await page.getByRole("button", { name: "Open the pull request" }).click();
    await page.locator("[data-receipt=refused]", { hasText: "GitHub <b>refused</b>." }).waitFor();
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });
});

test("a task without files says so", async () => {
  const task = await omoi.task("Nothing yet", [{ bash: { command: "exit 0" } }, { fail: "at once" }], { max_retries: 0 });
  await omoi.until(task, (t) => t.completed_at !== null);
  await on(`/tasks/${task.key}/changes`, async ({ page, allow }) => {
    allow(/404/);
    await page.locator("[data-refused], .empty").first().waitFor();
    expect(await page.textContent("h1")).toContain("Nothing yet");
  });
});
