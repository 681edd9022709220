import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Schemas } from "@omoi/client";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";

export type Task = Schemas["Task"];
export type Event = Schemas["Event"];

export const root = new URL("../../../", import.meta.url).pathname;
const chromiumPath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

/** The command line of a process; empty once it has ended. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return "";
  }
}

/** The processes for which a condition holds, and all that they started. */
function below(holds: (pid: number) => boolean): number[] {
  const parents = new Map<number, number>(), roots = new Set<number>();
  for (const pid of readdirSync("/proc").map(Number).filter(Number.isInteger)) {
    try {
      parents.set(pid, Number(/^\d+ \(.*\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))![1]));
      if (holds(pid)) {
        roots.add(pid);
      }
    } catch {
      // it has ended
    }
  }
  const mine = (pid: number | undefined): boolean => pid !== undefined && (roots.has(pid) || mine(parents.get(pid)));
  return [...parents.keys()].filter(mine);
}

/** Kills a process, unless it has ended. */
function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // with its parent
  }
}

/** A real omoi of its own: PostgreSQL, Temporal, API and worker. */
export class Omoi {
  readonly home = mkdtempSync(join(tmpdir(), "omoi-page-"));
  readonly repo = join(this.home, "repo");
  url = "";
  private process: ChildProcess | undefined;

  /** key: authentication is on, and this is the first API key; it also signs JWTs. */
  constructor(private readonly key = "", private readonly env: Record<string, string> = {}, private readonly flags: string[] = []) {
    chmodSync(this.home, 0o755); // as root, PostgreSQL runs as another user
  }

  async start(program = join(root, "bin/omoi")): Promise<void> {
    if (!existsSync(this.repo)) {
      mkdirSync(this.repo);
      writeFileSync(join(this.repo, "main.go"), "package main\n\nfunc main() {\n\tprintln(\"hi\")\n}\n");
      const git = (...args: string[]) => execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.com", ...args], { cwd: this.repo });
      git("init", "-q", "-b", "main");
      git("add", "-A");
      git("commit", "-qm", "begin");
    }
    const args = ["dev", ...(this.url === "" ? ["--port", "0", "--temporal-port", "0", "--ui-port", "0"] : ["--port", new URL(this.url).port, "--temporal-port", "0", "--ui-port", "0"]), ...this.flags];
    const started = spawn(program, args, {
      env: { ...process.env, OMOI_HOME: this.home, OMOI_DEV_POSTGRES_DATA_ROOT: join(this.home, "data"), OMOI_TEST_AGENT_HEARTBEAT_INTERVAL: "1s", ...this.env, ...(this.key === "" ? {} : { OMOI_API_AUTH_DISABLED: "false", OMOI_API_KEY: this.key, AUTH_JWT_SECRET_KEY: this.key }) }, stdio: ["ignore", "pipe", "pipe"],
    });
    this.process = started;
    let said = "";
    await new Promise<void>((resolve, reject) => {
      const hear = (text: Buffer): void => {
        said += text.toString();
        const page = /page\s+(http:\S+)\/tasks/.exec(said);
        if (page !== null && said.includes("Stop:")) {
          this.url = page[1]!;
          resolve();
        }
      };
      started.stdout.on("data", hear);
      started.stderr.on("data", hear);
      started.on("exit", () => reject(new Error(said)));
    });
  }

  /** A copy of the program that says it is of another version. */
  async otherVersion(): Promise<string> {
    const { version } = await this.call<{ version: string }>("GET", "/healthz"), path = join(this.home, "omoi-other");
    const other = version.slice(0, -1) + (version.endsWith("0") ? "1" : "0");
    const program = readFileSync(join(root, "bin/omoi")).toString("latin1").replaceAll(version, other);
    writeFileSync(path, program, { encoding: "latin1", mode: 0o755 });
    copyFileSync(join(root, "bin/omoi-agent"), join(this.home, "omoi-agent"));
    return path;
  }

  /** Stops or continues the processes of omoi dev whose command line matches. */
  signal(name: RegExp, signal: "SIGSTOP" | "SIGCONT"): void {
    const found = below((pid) => pid === this.process!.pid).filter((pid) => pid !== this.process!.pid && name.test(commandOf(pid)));
    expect(found.length, `processes of ${name}`).toBeGreaterThan(0);
    found.forEach((pid) => process.kill(pid, signal));
  }

  /** Kills the process at once, as a crash would. */
  async kill(): Promise<void> {
    const gone = new Promise((resolve) => this.process!.once("exit", resolve));
    this.process!.kill("SIGKILL");
    await gone;
  }

  /** Starts the process again, if a test that failed has left it killed. */
  async revive(): Promise<void> {
    if (this.process!.signalCode !== null) {
      await this.start();
    }
  }

  async stop(): Promise<void> {
    await this.revive();
    const gone = new Promise((resolve) => this.process!.once("exit", resolve));
    this.process!.kill("SIGINT");
    await gone;
    below((pid) => commandOf(pid).includes(`${this.home}/`)).forEach(end); // agents outlive omoi dev
    rmSync(this.home, { recursive: true, force: true });
  }

  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await fetch(this.url + path, { method, headers: { "Content-Type": "application/json", ...(this.key === "" ? {} : { "X-API-Key": this.key }) }, body: body === undefined ? undefined : JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) {
      throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    }
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }

  /** Creates a task of the scripted agent. */
  task(title: string, steps: object[], more: object = {}): Promise<Task> {
    return this.call("POST", "/api/v1/tasks", { repo: this.repo, title, description: title, agent: "scripted", execution_config: { script: { steps } }, ...more });
  }

  /** Cancels all tasks, so that those of the next test have a slot. */
  async cancelAll(): Promise<void> {
    const { items } = await this.call<{ items: Task[] }>("GET", "/api/v1/tasks?limit=500");
    await Promise.all(items.filter((t) => t.completed_at === null).map((t) => this.call("POST", `/api/v1/tasks/${t.id}/cancel`, {}).catch(() => undefined)));
  }

  read(task: Task): Promise<Task> {
    return this.call("GET", `/api/v1/tasks/${task.id}`);
  }

  async until(task: Task, holds: (task: Task) => boolean): Promise<Task> {
    for (;;) {
      const now = await this.read(task);
      if (holds(now)) {
        return now;
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async events(task: Task): Promise<Event[]> {
    const all: Event[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const page: Schemas["TaskEventList"] = await this.call("GET", `/api/v1/tasks/${task.id}/events?limit=1000&cursor=${encodeURIComponent(cursor)}`);
      all.push(...page.items);
      cursor = page.items.length === 0 ? null : page.next_cursor ?? null;
    }
    return all;
  }
}

/** Makes a page believe that nobody sees it, or that somebody does. */
export function see(page: Page, visibility: "hidden" | "visible"): Promise<void> {
  return page.evaluate((v) => {
    Object.defineProperty(document, "visibilityState", { value: v, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, visibility);
}

/** A page that fails its test on an error, a violation of the policy, or a request to another host. */
export interface Watched { page: Page; allow: (...faults: RegExp[]) => void }

let browser: Browser;
export const omoi = new Omoi();

/** Starts omoi and a browser for the tests of a file. */
export function serve(served: Omoi = omoi): void {
  beforeAll(async () => {
    if (chromiumPath === undefined) {
      throw new Error("SKIPPED: no Chromium. Next: install the package chromium");
    }
    browser = await chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP omoi.test 127.0.0.1"] });
    await served.start();
  }, 120_000);
  afterAll(async () => {
    await browser.close();
    await served.stop();
  }, 60_000);
}

/** Lines of Chromium's console while the server is gone: which one depends on where in a request the connection ended. */
export const serverGone = new RegExp(
  "ERR_CONNECTION_(CLOSED|REFUSED|RESET)|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_SOCKET_NOT_CONNECTED|answer 503|status of 503",
);

/** Opens a path in a fresh context, runs the test, and checks that nothing went wrong on the page. */
export async function on(path: string, act: (at: Watched) => Promise<void>, options: BrowserContextOptions & { base?: string } = {}): Promise<void> {
  const { base, ...context } = options;
  const opened = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", locale: "en-GB", timezoneId: "Europe/Berlin", ...context });
  await opened.addInitScript(() => Object.defineProperty(Crypto.prototype, "randomUUID", { value: undefined })); // as over plain HTTP
  const page = await opened.newPage(), faults: string[] = [], allowed: RegExp[] = [];
  page.setDefaultTimeout(20_000);
  page.on("console", (m) => (m.type() === "error" || m.type() === "warning") && faults.push(`console: ${m.text()} ${m.location().url}`));
  page.on("pageerror", (e) => faults.push(`exception: ${e.message}`));
  page.on("request", (r) => new URL(r.url()).host !== new URL(base ?? omoi.url).host && faults.push(`other host: ${r.url()}`));
  page.on("response", (r) => r.status() >= 400 && faults.push(`answer ${r.status()} ${r.url()}`));
  try {
    await page.goto((base ?? omoi.url) + path);
    const wrong = () => faults.filter((f) => !allowed.some((a) => a.test(f)));
    await act({ page, allow: (...faults) => allowed.push(...faults) }).catch((fault: Error) => {
      fault.message += wrong().map((f) => `\non the page: ${f}`).join("");
      throw fault;
    });
    expect(wrong()).toEqual([]);
  } finally {
    await opened.close();
  }
}

/** Signs in at the dialog that a page without a session shows. */
export async function signIn(page: Page, secret: string): Promise<void> {
  const dialog = page.getByRole("dialog", { name: "Sign in" });
  await dialog.getByLabel("API key").fill(secret);
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
}

/** Opens a path of a server with authentication as the owner of a key. */
export const signedIn = (at: Omoi, secret: string, path: string, act: Parameters<typeof on>[1], options: BrowserContextOptions = {}) => on(path, async (watched) => {
  watched.allow(/401/);
  await signIn(watched.page, secret);
  await act(watched);
}, { ...options, base: at.url });

/** The number of streams of a kind that the server holds open. */
export async function openStreams(kind: string): Promise<number> {
  const metrics = await (await fetch(`${omoi.url}/metrics`)).text();
  return Number(new RegExp(`^omoi_streams_open\\{kind="${kind}"\\} (\\d+)`, "m").exec(metrics)?.[1] ?? 0);
}

/** Temporal answers late for a schedule while the machine is busy: the server says 503, and the page asks again. */
export const late = /503.*\/(schedules|monitor\/intelligent)\//;

/** Waits until the page publishes a fact about its stream. */
export async function fact(page: Page, name: string, value: string): Promise<void> {
  await page.waitForFunction(([n, v]) => document.documentElement.dataset[n!] === v, [name, value]).catch(async (fault: Error) => {
    throw new Error(`data-${name} is "${await page.evaluate((n) => document.documentElement.dataset[n], name)}", not "${value}"`, { cause: fault });
  });
}

export const sleepForever = { bash: { command: "sleep 600", timeout_s: 900 } };

/** A proxy in front of omoi that can be cut in mid-frame, or fall silent. */
export class Cut {
  private server: Server | undefined;
  private readonly sockets = new Set<Socket>();
  silent = false;

  async start(): Promise<string> {
    const to = Number(new URL(omoi.url).port);
    this.server = createServer((client) => {
      const target = connect(to, "127.0.0.1");
      for (const socket of [client, target]) {
        this.sockets.add(socket);
        socket.on("error", () => undefined);
        socket.on("close", () => { this.sockets.delete(socket); client.destroy(); target.destroy(); });
      }
      client.on("data", (d) => target.write(d));
      target.on("data", (d) => this.silent || client.write(d));
    });
    await new Promise<void>((resolve) => this.server!.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  cut(): void {
    this.sockets.forEach((s) => s.destroy());
  }

  stop(): void {
    this.server?.close();
    this.cut();
  }
}
