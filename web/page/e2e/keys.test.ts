import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";

import { on, omoi, serve, sleepForever, type Task } from "./omoi";

serve();

let twice: Task, live: Task;

beforeAll(async () => {
  const needle = { bash: "echo needle" }, fail = { bash: "exit 3" };
  const work = { bash: "printf 'package main\\n\\nfunc main() {\\n\\tprintln(\"ho\")\\n}\\n' > main.go; echo new > z.txt; git add -A; git -c user.name=a -c user.email=a@example.com commit -qm work" };
  twice = await omoi.task("Twice", [{ say: "alpha one" }, needle, fail, { say: "alpha two" }, needle, fail, { say: "alpha three" }, work, { fail: "on purpose" }], { max_retries: 0 });
  await omoi.until(twice, (t) => t.completed_at !== null);
  await omoi.call("POST", `/api/v1/tasks/${twice.id}/retry`, {});
  twice = await omoi.until(twice, (t) => t.attempts.length === 2 && t.completed_at !== null);
  live = await omoi.task("Live", [{ say: "I work." }, sleepForever]);
  live = await omoi.until(live, (t) => t.status === "running");
}, 180_000);

const press = async (page: Page, ...keys: string[]): Promise<void> => {
  for (const key of keys) {
    await page.keyboard.press(key);
  }
};
const open = (page: Page, path: string): Promise<unknown> => page.goto(omoi.url + path);
const timeline = async (page: Page): Promise<void> => {
  await open(page, `/tasks/${twice.key}`);
  await page.waitForFunction(() => document.documentElement.dataset["complete"] === "true");
};
const chosen = (page: Page, text: string) => page.locator(".event.chosen", { hasText: text }).waitFor();
const focused = (page: Page, selector: string): Promise<unknown> => page.waitForFunction((s) => document.activeElement?.matches(s), selector);
const review = async (page: Page, path: string): Promise<void> => {
  await open(page, `/tasks/${twice.key}/changes?path=${path}&split=false`);
  await page.waitForFunction((p) => document.querySelector<HTMLElement>(".pane")?.dataset["shown"] === p, path);
};

/** What each line of the list of keys promises. */
const checks: Record<string, (page: Page) => Promise<void>> = {
  "?: this list": async (page) => {
    await open(page, "/settings");
    await page.getByRole("heading", { name: "Settings" }).waitFor();
    await press(page, "?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await press(page, "Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  },
  "g t, g f, c: the list of tasks, the fleet, a new task": async (page) => {
    for (const [keys, path] of [[["g", "t"], "/tasks"], [["g", "f"], "/fleet"], [["c"], "/tasks/new"]] as const) {
      await press(page, ...keys);
      await page.waitForURL((url) => url.pathname === path);
    }
  },
  "/: search": async (page) => {
    await open(page, "/tasks");
    await page.locator(".task-row").first().waitFor();
    await press(page, "/");
    await focused(page, "input[type=search]");
  },
  "j, k, Enter: in the list of tasks: next row, previous row, open": async (page) => {
    await open(page, "/tasks");
    await page.locator(".task-row").nth(1).waitFor();
    await press(page, "j", "j");
    expect(await page.evaluate(() => [...document.querySelectorAll(".task-row")].indexOf(document.activeElement!))).toBe(1);
    await press(page, "k", "Enter");
    await page.locator(".task-title").waitFor();
  },
  "1 to 6: views of a task": async (page) => {
    await timeline(page);
    for (const [n, tab] of ["output", "messages", "receipts", "details"].entries()) {
      await press(page, String(n + 2));
      await page.waitForURL((url) => url.searchParams.get("tab") === tab);
    }
    await press(page, "1");
    await page.waitForURL((url) => !url.searchParams.has("tab"));
    await press(page, "6");
    await page.waitForURL((url) => url.pathname.endsWith("/changes"));
  },
  "[, ]: previous and next attempt of a task": async (page) => {
    await timeline(page);
    await press(page, "g", "g");
    await page.locator(".timeline[data-follow=false]").waitFor();
    await press(page, "[");
    await page.waitForURL((url) => url.searchParams.get("attempt") === "1");
    await page.locator(".timeline[data-follow=true]").waitFor(); // the other attempt has a place of its own
    await press(page, "]");
    await page.waitForURL((url) => !url.searchParams.has("attempt"));
  },
  ".: menu of actions of a task; in a review: its first action": async (page) => {
    await open(page, `/tasks/${live.key}`);
    await page.getByRole("button", { name: "More actions" }).waitFor();
    await press(page, ".", ".");
    await focused(page, "[popover]:popover-open button");
    await press(page, "Enter");
    await page.getByRole("dialog").waitFor();
    await focused(page, "[data-harmless]");
    await open(page, `/tasks/${live.key}/changes`);
    await page.getByRole("button", { name: "Approve…" }).waitFor();
    await press(page, ".");
    await focused(page, "[data-actions] > button");
  },
  "o: pull request of a task, in a new tab": async (page) => {
    await page.route(`**/api/v1/tasks/${twice.key}`, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, json: { ...(await answer.json()), pull_request_url: `${omoi.url}/tasks?q=pull-request`, pull_request_number: 7 } });
    });
    await review(page, "z.txt"); // the page of the task gets it from the stream, too
    await page.getByRole("link", { name: "pull request #7" }).waitFor();
    const link = await page.evaluateHandle(() => ({ // the page listens before the key is pressed
      clicked: new Promise<string>((clicked) => document.addEventListener("click", (event) => {
        event.preventDefault(); // no tab is opened
        clicked(`${(event.target as HTMLAnchorElement).target} ${(event.target as HTMLAnchorElement).href}`);
      }, { once: true })),
    }));
    await press(page, "o");
    expect(await link.evaluate((of) => of.clicked)).toBe(`_blank ${omoi.url}/tasks?q=pull-request`);
    await page.unrouteAll({ behavior: "ignoreErrors" });
  },
  "m, Ctrl+Enter: message to the agent, send a message or a form": async (page) => {
    await open(page, `/tasks/${live.key}`);
    await page.locator(".composer").waitFor();
    await press(page, "m");
    await focused(page, ".composer textarea");
    await page.keyboard.type("by keys alone");
    await press(page, "Control+Enter");
    await page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>(".composer textarea")!.value === ""); // the server has it
    await open(page, "/settings?tab=projects&project=new");
    await page.getByLabel("Description").fill("x");
    await page.getByLabel("Key").fill("1");
    await page.getByLabel("Description").focus();
    await press(page, "Control+Enter");
    await page.locator("[data-fault='body.key']").waitFor();
  },
  "G, g g: newest event, and follow; first event": async (page) => {
    await timeline(page);
    await press(page, "g", "g");
    await page.locator("article[aria-posinset='1'] .event.chosen").waitFor();
    await press(page, "G");
    await page.locator(".timeline[data-follow=true]").waitFor();
  },
  "f, n, N: search the events of the attempt; next and previous one": async (page) => {
    await timeline(page);
    await press(page, "f");
    await focused(page, "[data-find]");
    await page.keyboard.type("alpha");
    await press(page, "Enter");
    await chosen(page, "alpha one");
    await page.locator(".timeline .feed").focus();
    await press(page, "n");
    await chosen(page, "alpha two");
    await press(page, "N");
    await chosen(page, "alpha one");
  },
  "e, E: next error, previous error": async (page) => {
    await timeline(page);
    await page.getByRole("button", { name: "Next error" }).waitFor(); // the outline of the attempt is loaded
    const at = (): Promise<number> => page.locator("article:has(.event.chosen)").getAttribute("aria-posinset").then(Number);
    await press(page, "e");
    await chosen(page, "exit 3");
    const first = await at();
    await press(page, "e");
    await expect.poll(at).toBeGreaterThan(first);
    await chosen(page, "exit 3");
    await press(page, "E");
    await expect.poll(at).toBe(first);
  },
  "#: numbers of events": async (page) => {
    await timeline(page);
    await press(page, "#");
    await page.locator(".event.numbered").first().waitFor();
  },
  "n, N, w: in the output: next and previous place found; wrap lines": async (page) => {
    await open(page, `/tasks/${twice.key}?tab=output`);
    await page.getByLabel("Search the output").fill("needle");
    await page.getByText("2 found", { exact: true }).waitFor();
    await page.locator(".output .feed").focus();
    for (const [key, place] of [["n", 1], ["n", 2], ["N", 1]] as const) {
      await press(page, key);
      await page.getByText(`${place} of 2 found`).waitFor();
    }
    await press(page, "w");
    await page.locator(".output.unwrapped").waitFor();
  },
  "Space, arrows, Home, End, [, ]: in a replay: play, one event, first, last, previous mark, next mark": async (page) => {
    await open(page, `/tasks/${twice.key}/replay#e1:2`);
    const last = twice.attempts[0]!.events, at = async (): Promise<number> => Number(await page.locator("[data-moment]").getAttribute("data-moment"));
    await page.locator("[data-moment='2']").waitFor();
    for (const [key, moment] of [["ArrowRight", 3], ["ArrowLeft", 2], ["End", last], ["Home", 1]] as const) {
      await press(page, key);
      await page.locator(`[data-moment='${moment}']`).waitFor();
    }
    await press(page, "]");
    await expect.poll(at).toBeGreaterThan(1);
    const mark = await at();
    await press(page, "[");
    await expect.poll(at).toBeLessThan(mark);
    await press(page, "Space");
    await page.locator("[data-playing=true]").waitFor();
  },
  "n, p: in a review: next and previous change, also in the next file": async (page) => {
    await review(page, "main.go");
    await press(page, "n");
    await page.locator(".now", { hasText: "hi" }).waitFor();
    await press(page, "n");
    await page.locator(".pane[data-shown='z.txt']").waitFor();
    await press(page, "p");
    await page.locator(".pane[data-shown='main.go']").waitFor();
  },
  "j, k, Enter: in a review: next line, previous line, comment on the line": async (page) => {
    await review(page, "main.go");
    await press(page, "j", "j", "j", "k");
    await page.locator(".now", { hasText: "package main" }).waitFor();
    await press(page, "Enter");
    await focused(page, ".comment textarea");
    await press(page, "Escape");
    await page.locator(".comment").waitFor({ state: "detached" });
  },
  "s: split or unified diff": async (page) => {
    await review(page, "main.go");
    await press(page, "s");
    await page.locator(".dl.split").first().waitFor();
    await press(page, "s");
    await page.locator(".dl:not(.split)").first().waitFor();
  },
  "Esc: leave the message box, close a menu or a dialog": async (page) => {
    await open(page, `/tasks/${live.key}`);
    await page.locator(".composer").waitFor();
    await press(page, "m", "Escape");
    await focused(page, "body");
    await press(page, ".");
    await page.locator("[popover]:popover-open").waitFor();
    await press(page, "Escape");
    await page.locator("[popover]:not(:popover-open)").first().waitFor({ state: "attached" });
  },
};

test("23: the page lists its keys, and each key does what the list says", async () => {
  await on("/tasks", async ({ page, allow }) => {
    allow(/409|422|404/); // the form that is sent by keys is refused; the running task has no files yet
    await page.locator(".task-row").first().waitFor();
    await press(page, "?");
    await page.locator(".keys").waitFor();
    const list = await page.locator(".keys tr").evaluateAll((all) => all.map((tr) => [...tr.children].map((c) => c.textContent).join(": ")));
    expect(list).toEqual(Object.keys(checks));
    await page.getByRole("button", { name: "Close" }).click();
    for (const [keys, holds] of Object.entries(checks)) {
      await holds(page).catch((fault: Error) => { throw new Error(`${keys}: ${fault.message}`); });
    }
  });
}, 180_000);

const drawn = (page: Page): Promise<void> => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))));

test("23: keys of a single character do nothing in fields, in dialogs, and when a user turned them off", async () => {
  await on("/tasks", async ({ page }) => {
    await page.getByRole("searchbox").focus();
    await page.keyboard.type("?c");
    await page.waitForURL(/q=/);
    expect(await page.getByRole("dialog").count()).toBe(0);
    await open(page, `/tasks/${live.key}`);
    await page.getByRole("button", { name: "Cancel…" }).click();
    await page.getByRole("dialog").getByRole("heading").click(); // the focus leaves the dialog
    await press(page, "c", "2", "?");
    await drawn(page);
    expect([new URL(page.url()).pathname, await page.getByRole("dialog").count()]).toEqual([`/tasks/${live.key}`, 1]);

    await open(page, "/settings");
    const box = page.getByRole("checkbox", { name: /shortcuts of a single character/ });
    await box.uncheck();
    await page.reload();
    expect(await box.isChecked()).toBe(false);
    await page.locator("h1").click();
    await press(page, "?", "c", "g", "t");
    await drawn(page);
    expect([new URL(page.url()).pathname, await page.getByRole("dialog").count()]).toEqual(["/settings", 0]);
    await page.getByRole("button", { name: "Show all keys" }).click();
    await page.getByRole("dialog", { name: "Keys" }).getByRole("button", { name: "Close" }).click();
    await box.check();
    await press(page, "Tab", "g", "t");
    await page.waitForURL(/\/tasks$/);
  });
});
