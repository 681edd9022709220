import { beforeAll, expect, test } from "vitest";

import { late, on, omoi, serve, sleepForever, type Task } from "./omoi";
import type { Page } from "playwright-core";

serve();

let live: Task, done: Task, asks: Task;

beforeAll(async () => {
  done = await omoi.task("Done", [{ say: "Hello." }, { write: { path: "a.md", content: "x\n" } }, { bash: { command: "false" } }, { complete: { output: "Bye." } }]);
  live = await omoi.task("Live", [{ say: "A text that is long enough to wrap on a phone, and then some more of it." }, { think: "Hm." }, { bash: { command: `echo ${"x".repeat(200)}` } }, sleepForever]);
  await omoi.until(done, (t) => t.completed_at !== null);
  asks = await omoi.task("Asks", [{ ask: { text: "Which **database** do you want, of those that this machine has?", options: ["PostgreSQL", "SQLite", "x".repeat(200)] } }, sleepForever]);
  await omoi.until(live, (t) => t.status === "running");
  await omoi.until(asks, (t) => t.question !== null);
}, 60_000);

const screens = () => ["/tasks", "/tasks?as=board", "/tasks?group=failed", `/tasks/${live.key}`, `/tasks/${live.key}?tab=details`, `/tasks/${asks.key}`, `/tasks/${done.key}`, `/tasks/${done.key}?tab=receipts`, `/tasks/${done.key}?tab=messages`,
  `/tasks/${done.key}?tab=output`, `/tasks/${done.key}/changes`, `/tasks/${done.key}/changes?tab=tests`,
  `/tasks/${done.key}/replay#e1:12`, `/compare?a=${done.key}:1&b=${live.key}:1&all=true`, "/settings",
  "/settings?tab=projects", "/settings?tab=projects&project=new", `/settings?tab=projects&project=${live.key.split("-")[0]}`, "/settings?tab=credentials", "/settings?tab=notices", "/settings?tab=keys",
  "/fleet", "/fleet?tab=queue", "/fleet?tab=sandboxes&show=all", "/fleet?tab=supervision", "/fleet?tab=usage", "/fleet?tab=server", "/tasks/new", `/tasks/new?from=${live.key}`];

/** The running task has no checkpoint yet, so that there are no files to compare. */
const noFiles = /404.*\/changes\?/;

async function settled(page: Page): Promise<void> {
  await page.waitForFunction(() => document.querySelector("main h1") !== null && !document.body.textContent!.includes("Loading…"));
}

test("23: everything has a name, one h1 each, and the keyboard reaches all of it", async () => {
  for (const path of screens()) {
    await on(path, async ({ page, allow }) => {
      allow(late);
      allow(noFiles);
      await settled(page);
      expect(await page.locator("h1").count(), path).toBe(1);
      const cdp = await page.context().newCDPSession(page);
      const { nodes } = (await cdp.send("Accessibility.getFullAXTree" as never)) as { nodes: { ignored: boolean; role?: { value: string }; name?: { value: string } }[] };
      const roles = ["button", "link", "textbox", "searchbox", "combobox", "checkbox", "radio", "feed", "article", "navigation", "dialog"];
      const nameless = nodes.filter((n) => !n.ignored && roles.includes(n.role?.value ?? "") && n.role?.value !== "article" && (n.name?.value ?? "").trim() === "");
      expect(nameless.map((n) => n.role?.value), path).toEqual([]);
      const wanted = await page.$$eval("a[href], button:not(:disabled), input, select, textarea", (all) => all.filter((e) => e.checkVisibility() && e.getClientRects().length > 0 && (e as HTMLElement).tabIndex >= 0 && !(e instanceof HTMLInputElement && e.type === "radio")).length);
      const reached = new Set<string>();
      for (let n = 0; n < wanted + 12; n++) {
        await page.keyboard.press("Tab");
        reached.add(await page.evaluate(() => {
          const e = document.activeElement as HTMLElement & { n?: number };
          (window as unknown as { n: number }).n ??= 0;
          e.n ??= (window as unknown as { n: number }).n++;
          return `${e.tagName} ${e.n}`;
        }));
      }
      expect([...reached].filter((r) => /^(A|BUTTON|INPUT|SELECT|TEXTAREA) /.test(r)).length, path).toBeGreaterThanOrEqual(wanted);
    });
  }
}, 240_000);

/** Waits until an element of the page has the focus. */
const focusHeld = (page: Page) => page.waitForFunction(() => document.activeElement !== document.body);

test("23: the list and the tabs work by keys alone, and the focus is never lost", async () => {
  await on("/tasks", async ({ page }) => {
    await settled(page);
    await page.keyboard.press("/");
    expect(await page.evaluate(() => (document.activeElement as HTMLInputElement).type)).toBe("search");
    await page.locator(".task-row", { hasText: live.key }).focus();
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await page.keyboard.press("Enter");
    await page.locator(".task-title").waitFor();
    await focusHeld(page);
    await page.keyboard.press("5");
    await page.getByRole("heading", { name: "Description" }).waitFor();
    await focusHeld(page);
    await page.keyboard.press("g");
    await page.keyboard.press("t");
    await page.locator(".task-row").first().waitFor();
    await focusHeld(page);
  });
  await on(`/tasks/${live.key}`, async ({ page }) => {
    await page.getByRole("button", { name: "Cancel…" }).focus();
    for (const key of ["Enter", "Escape"]) { // the second goes back by the key of the browser, the first by the focused button
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").waitFor();
      await page.keyboard.press(key);
      await page.getByRole("dialog").waitFor({ state: "detached" });
      expect(await page.evaluate(() => document.activeElement!.textContent)).toBe("Cancel…");
    }
  });
});

/** Texts whose contrast is too low, by WCAG 2. */
const faint = () => {
  const parse = (c: string): number[] => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true })!;
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = c;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]: number[]): number => [r!, g!, b!].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n]!, 0);
  const ground = (e: Element | null): number[] => {
    for (; e !== null; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c[3]! > 250) {
        return c;
      }
    }
    return [255, 255, 255];
  };
  const bad = new Set<string>();
  const check = (e: Element, color: string, text: string): void => {
    const [a, b] = [light(parse(color)), light(ground(e))].sort((x, y) => y - x) as [number, number], ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) {
      bad.add(`${ratio.toFixed(2)} ${e.tagName}.${e.className}: ${text.slice(0, 30)}`);
    }
  };
  for (const e of document.querySelectorAll<HTMLInputElement>("input[placeholder], textarea[placeholder]")) {
    if (e.value === "" && e.checkVisibility()) {
      check(e, getComputedStyle(e, "::placeholder").color, e.placeholder);
    }
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const e = node.parentElement!;
    if (node.textContent!.trim() === "" || !e.checkVisibility({ opacityProperty: true }) || e.closest(":disabled, .hidden-text, noscript, title") !== null) {
      continue;
    }
    check(e, getComputedStyle(e).color, node.textContent!);
  }
  return [...bad];
};

test("24: every text has a contrast of 4.5 at least, light and dark", async () => {
  for (const colorScheme of ["light", "dark"] as const) {
    for (const path of screens()) {
      await on(path, async ({ page, allow }) => {
        allow(late);
        allow(noFiles);
        await settled(page);
        for (const fold of (await page.locator(".feed .fold").all()).slice(0, 3)) {
          await fold.click();
        }
        expect(await page.evaluate(faint), `${path} ${colorScheme}`).toEqual([]);
      }, { colorScheme });
    }
  }
}, 240_000);

/** The width of the page. On a phone innerWidth grows with it, and cannot be the measure. */
const widthOf = (page: Page): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth);

/** Puts an element that is wider than the window in front of the content. */
const plant = (page: Page): Promise<void> => page.evaluate(() => {
  const wide = document.createElement("div");
  wide.style.cssText = "width: 120vw; height: 1px; flex: none";
  document.querySelector("main > *")!.prepend(wide);
});

test("25: a phone and 400 % zoom show everything without sideways scrolling; targets are 44 px", async () => {
  for (const viewport of [{ width: 360, height: 740 }, { width: 320, height: 256 }]) {
    for (const path of screens()) {
      await on(path, async ({ page, allow }) => {
        allow(late);
        allow(noFiles);
        await settled(page);
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme });
          expect(await widthOf(page), `${path} ${viewport.width} ${colorScheme}`).toBe(viewport.width);
        }
        const small = await page.$$eval("main button, main .chip, .top nav a, main select, main input:not([type=radio]):not([type=checkbox])", (all) =>
          all.filter((e) => e.checkVisibility() && e.getClientRects().length > 0 && !e.matches(".text")).filter((e) => e.getBoundingClientRect().height < 43.5).map((e) => e.textContent || e.tagName));
        expect(small, path).toEqual([]);
        if (viewport.width === 360 && path === `/tasks/${live.key}`) {
          expect(await page.locator(".feed").evaluate((e) => e.clientHeight)).toBeGreaterThan(200);
          await page.getByRole("button", { name: "Cancel…" }).tap();
          await page.getByRole("dialog").waitFor();
        }
        await plant(page);
        expect(await widthOf(page), `${path} ${viewport.width}, with a wide element`).toBeGreaterThan(viewport.width);
      }, { viewport, hasTouch: true, isMobile: viewport.width === 360 });
    }
  }
}, 240_000);
