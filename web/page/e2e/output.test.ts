import { expect, test } from "vitest";
import type { Page } from "playwright-core";

import { on, omoi, serve, type Task } from "./omoi";

serve();

const ended = (task: Task): Promise<Task> => omoi.until(task, (t) => t.completed_at !== null);
const lines = (page: Page, within: string): Promise<string[]> => page.$$eval(`${within} .tl`, (all) => all.map((l) => l.textContent!.replace(/\n$/, "")));

test("15: output has colors, and its other control sequences do nothing", async () => {
  const colors = "printf 'a \\033[31mred\\033[0m \\033[38;5;208morange\\033[0m\\n10%%\\r50%%\\r100%%\\n\\033]52;c;aGFja2Vk\\007\\033]8;;http://evil.test\\033\\\\link\\033]8;;\\033\\\\ \\033[2J\\033[1Aend\\n\\033[3'";
  const task = await omoi.task("Colors", [{ bash: colors }, { bash: "echo '1mhalf'" }, { bash: "seq 1 300" }, { bash: "echo '<b>trouble</b>' >&2; exit 3" }, { complete: {} }]);
  await ended(task);
  await on(`/tasks/${task.key}?tab=output`, async ({ page }) => {
    await page.evaluate(() => navigator.clipboard.writeText("mine"));
    const command = (n: number): string => `article[aria-posinset="${n}"] .command`;
    await page.locator(command(4)).waitFor();
    expect(await page.textContent(`${command(4)} header`)).toMatch(/exit 3/);
    expect(await lines(page, command(4))).toEqual(["<b>trouble</b>"]);
    expect(await page.locator("b", { hasText: "trouble" }).count()).toBe(0);
    await page.locator(".output .feed").focus();
    await page.keyboard.press("Home");
    await page.locator(command(1)).waitFor();
    expect(await lines(page, command(1))).toEqual(["a red orange", "100%", "link end", "U+001B[3"]);
    expect(await page.locator("a[href*='evil.test']").count()).toBe(0);
    const color = (text: string): Promise<string> => page.locator(`${command(1)} .tl span`, { hasText: new RegExp(`^${text}$`) }).first().evaluate((e) => getComputedStyle(e).color);
    expect([await color("red"), await color("orange")]).toEqual(["rgb(255, 138, 128)", "rgb(255, 135, 0)"]);
    expect(await lines(page, command(2))).toEqual(["1mhalf"]);
    await page.locator(command(3)).scrollIntoViewIfNeeded();
    expect((await lines(page, command(3))).length).toBe(90);
    await page.getByRole("button", { name: "210 more lines · show all" }).click();
    expect(await lines(page, command(3))).toEqual(Array.from({ length: 300 }, (_, n) => String(n + 1)));
    await page.getByRole("button", { name: "Next error (1)" }).click();
    await page.locator(`${command(4)}[data-failed=true]`).waitFor();
    await page.fill(".output input[type=search]", "orange");
    await page.getByText("1 found").waitFor();
    await page.keyboard.press("Enter");
    await page.locator(`${command(1)} mark`, { hasText: "orange" }).first().waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("mine");
  }, { permissions: ["clipboard-read", "clipboard-write"] });
  await on(`/tasks/${task.key}`, async ({ page }) => {
    await page.locator(".fold", { hasText: "printf" }).click();
    await page.locator(".more .terminal").first().waitFor();
    expect(await lines(page, ".more .terminal")).toContain("a red orange");
  });
});

test("15: the log of a sandbox is shown to its end, in colors", async () => {
  const task = await omoi.call<Task>("POST", "/api/v1/tasks", {
    repo: omoi.repo, title: "Log", description: "Log", agent: "command", max_retries: 0,
    execution_config: { command: ["sh", "-c", "printf '\\033[32mgreen\\033[0m\\n1%%\\r2%%\\nerror: <i>no</i>\\n'; sleep 4; echo later"] },
  });
  await omoi.until(task, (t) => t.status === "running");
  await on(`/tasks/${task.key}?tab=output`, async ({ page }) => {
    await page.getByRole("button", { name: "Sandbox log" }).click();
    await page.locator(".terminal.whole .tl", { hasText: "green" }).waitFor();
    await page.locator(".terminal.whole .tl", { hasText: "later" }).waitFor({ timeout: 30_000 });
    const shown = await lines(page, ".terminal.whole");
    expect(shown).toEqual(expect.arrayContaining(["green", "2%", "error: <i>no</i>", "later"]));
    expect(shown.filter((l) => l === "green" || l === "later").length).toBe(2);
    expect(await page.locator(".tl span", { hasText: /^green$/ }).first().evaluate((e) => getComputedStyle(e).color)).toBe("rgb(124, 207, 146)");
    await page.locator("[data-log=ended]").waitFor({ timeout: 60_000 });
  });
}, 120_000);
