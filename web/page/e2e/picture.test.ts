import { join } from "node:path";

import { test } from "vitest";

import { fact, late, on, omoi, serve, type Watched } from "./omoi";

process.env["OMOI_CHECKPOINT_INTERVAL"] = "1s"; // the review shows files of a checkpoint
const into = process.env["OMOI_PICTURES"];

if (into !== undefined) {
  serve();
}

/** Takes pictures of a page, light and dark, as soon as it is ready. */
async function picture(name: string, path: string, ready: (at: Watched) => Promise<unknown>): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await on(path, async (at) => {
      await ready(at);
      await at.page.screenshot({ path: join(into!, `${name}-${colorScheme}.png`) });
    }, { colorScheme, viewport: { width: 1200, height: 760 } });
  }
}

test.skipIf(into === undefined)("28: pictures of a live task and of the pages around it", async () => {
  const task = await omoi.task("Heartbeat limit per tool", [
    { think: "The limit is read in one place. I look there first." },
    { say: "I look at where the limit is read, then give each tool a limit of its own." },
    { bash: { command: "grep -n println main.go" } },
    { edit: { path: "main.go", old: "println(\"hi\")", new: "limit := limitOf(tool)\n\tprintln(limit)" } },
    { usage: { input_tokens: 38_000, output_tokens: 2100, cost_usd: 0.41 } },
    { say: "The edit is done. Which limit does `sleep` get?" },
    { wait_message: { timeout_s: 60 } },
    { write: { path: "limit.go", content: "package main\n\nfunc limitOf(tool string) string {\n\treturn tool + \": 30 min\"\n}\n" } },
    { bash: { command: "echo 'main.go:4:11: undefined: tool'; exit 1" } },
    { say: "`tool` is not defined in `main`. I fix that, and run the checks again." },
    { edit: { path: "main.go", old: "limit := limitOf(tool)", new: "limit := limitOf(\"sleep\")" } },
    { bash: { command: "sleep 300", timeout_s: 600 } },
  ], { budget: { usd: 2, tokens: 500_000, wall_clock_s: 3600 } });
  const running = await omoi.until(task, (t) => t.status === "running");
  await omoi.call("POST", `/api/v1/sandboxes/${running.sandbox_id}/messages`, { content: "30 minutes, like all others." });
  await picture("page", `/tasks/${task.key}`, async ({ page }) => {
    await page.getByText("sleep 300").waitFor();
    await fact(page, "complete", "true");
    await page.locator(".fold", { hasText: "limit.go" }).click();
    await page.locator(".diff").waitFor();
  });
  await picture("output", `/tasks/${task.key}?tab=output`, ({ page }) => page.locator(".command[data-failed=true]").waitFor());
  await picture("tasks", "/tasks", ({ page }) => page.locator(".task-row .status", { hasText: "Running" }).first().waitFor());
  await picture("fleet", "/fleet", ({ page, allow }) => (allow(late), page.locator("tbody tr", { hasText: "online" }).waitFor()));
  await picture("new", `/tasks/new?from=${task.key}`, ({ page }) => page.getByText(/works in a sandbox of provider local/).waitFor());
}, 120_000);

test.skipIf(into === undefined)("28: pictures of a review", async () => {
  const task = await omoi.task("Limit for each tool", [
    { edit: { path: "main.go", old: "println(\"hi\")", new: "println(limit.Of(\"sleep\").String())" } },
    { write: { path: "internal/limit/limit.go", content: "package limit\n\nimport \"time\"\n\n// Of returns the longest duration of a tool call.\nfunc Of(tool string) time.Duration {\n\tif tool == \"sleep\" {\n\t\treturn time.Minute\n\t}\n\treturn 30 * time.Minute\n}\n" } },
    { write: { path: "internal/limit/limit_test.go", content: "package limit\n\nimport \"testing\"\n\nfunc TestOf(t *testing.T) {\n\tif Of(\"sleep\") == Of(\"bash\") {\n\t\tt.Fatal(\"same limit\")\n\t}\n}\n" } },
    { bash: { command: "sleep 300", timeout_s: 600 } },
  ]);
  await picture("review", `/tasks/${task.key}/changes?path=internal/limit/limit.go&split=false`, async ({ page, allow }) => {
    allow(/404/); // no files yet
    await page.locator(".pane[data-shown='internal/limit/limit.go']").waitFor();
    await page.locator(".t-k").first().waitFor();
    await page.getByRole("button", { name: "Comment on line 8 of the new file" }).click();
    await page.keyboard.type("A minute is short for builds. Read it from the config.");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("button", { name: "Send 1 comment to the agent…" }).waitFor();
  });
});
