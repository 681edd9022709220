import { api, OmoiError, said, unwrap } from "../lib/api";
import { Ansi } from "./ansi";

const most = 50_000; // lines
const again = 3000;
/** Refusals that end: by a login, or with time. */
const passing = [401, 429];

type LogState = "loading" | "live" | "ended" | "refused";

/** The log of a sandbox, read to its end and then as it grows. */
export class SandboxLog {
  readonly ansi = new Ansi();
  state: LogState = "loading";
  problem = "";
  stale = false;
  /** Bytes that the server no longer keeps, and lines that were read and dropped. */
  missing = 0;
  dropped = 0;
  version = 0;
  private readonly readers = new Set<() => void>();
  private abort = new AbortController();

  constructor(private readonly sandbox: string) {}

  start(): void {
    this.abort = new AbortController();
    void this.follow(this.abort.signal);
  }

  stop(): void {
    this.abort.abort();
  }

  private next = 0;

  private async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.state !== "ended" && this.state !== "refused") {
      try {
        await visible(signal);
        this.take(await piece(this.sandbox, this.next, this.state === "loading" ? undefined : "20s", signal));
      } catch (error) {
        this.problem = signal.aborted ? "" : said(error);
        if (error instanceof OmoiError && error.problem.status < 500 && !passing.includes(error.problem.status)) {
          this.state = "refused";
        } else {
          await new Promise((resolve) => setTimeout(resolve, again));
        }
      }
      this.draw();
    }
  }

  private take(got: Piece): void {
    this.missing += Math.max(0, got.first - this.next);
    this.next = got.next;
    this.ansi.write(got.text);
    this.problem = "";
    this.stale = got.stale;
    this.state = got.ended ? "ended" : got.next < got.end ? "loading" : "live";
    if (this.ansi.lines.length > most) {
      this.dropped += this.ansi.lines.splice(0, this.ansi.lines.length - most).length;
    }
  }

  private draw(): void {
    this.version++;
    this.readers.forEach((reader) => reader());
  }

  readonly subscribe = (reader: () => void): (() => void) => {
    this.readers.add(reader);
    return () => this.readers.delete(reader);
  };

  readonly snapshot = (): number => this.version;
}

type Piece = Awaited<ReturnType<typeof piece>>;

const piece = (sandbox: string, after: number, wait: string | undefined, signal?: AbortSignal) =>
  unwrap(api.GET("/api/v1/sandboxes/{sandbox_id}/log", { params: { path: { sandbox_id: sandbox }, query: { after, wait } }, signal }));

/** The whole stored log, with its control sequences. */
export async function wholeLog(sandbox: string): Promise<string> {
  const texts: string[] = [];
  for (let at = 0, end = 1; at < end;) {
    const got = await piece(sandbox, at, undefined);
    texts.push(got.text);
    [at, end] = got.next > at ? [got.next, got.end] : [1, 1];
  }
  return texts.join("");
}

/** Waits until the reader sees the page. */
function visible(signal: AbortSignal): Promise<void> {
  return document.visibilityState === "visible" ? Promise.resolve() : new Promise((resolve) => {
    document.addEventListener("visibilitychange", () => resolve(), { once: true, signal });
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
