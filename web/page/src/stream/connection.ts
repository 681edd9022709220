import { createParser, type EventSourceMessage } from "eventsource-parser";

import type { Problem } from "../lib/api";
import { heardTime } from "../lib/clock";

/** What a reader sees of a stream. lost: connecting again; hidden: closed while nobody sees the page. */
export type Connection = "connecting" | "live" | "lost" | "hidden" | "ended" | "refused";

interface StreamHandlers {
  /** The address of what follows the cursor. */
  url: (cursor: string) => string;
  /** Called for each frame, in order. Returns the new cursor, or undefined if the frame does not move it. */
  frame: (frame: EventSourceMessage) => string | undefined;
  changed: (state: Connection, problem?: Problem) => void;
  /** Whether a refusal is final; default: all but those of a server that cannot answer now. */
  final?: (status: number) => boolean;
}

const isFinal = (status: number): boolean => status !== 429 && status < 500;

/** Longer than two keep-alives of the server. */
const silence = 45_000;
const hiddenAfter = 10_000;
const longest = 10_000;

/**
 * A stream of server-sent events that continues behind the newest frame held, for ever: after a lost connection with
 * growing pauses, at once when the network or the reader returns. A hidden page has no stream.
 */
export class Stream {
  private abort: AbortController | undefined;
  private next: ReturnType<typeof setTimeout> | undefined;
  private hide: ReturnType<typeof setTimeout> | undefined;
  private quiet: ReturnType<typeof setTimeout> | undefined;
  private failures = 0;
  private over = false;
  /** When the next try begins, by performance.now(); 0: it has begun. */
  nextTry = 0;
  private readonly wake = (): void => this.woken();

  constructor(private cursor: string, private readonly on: StreamHandlers) {}

  start(): void {
    for (const name of ["online", "pageshow"]) {
      window.addEventListener(name, this.wake);
    }
    document.addEventListener("visibilitychange", this.wake);
    if (document.visibilityState === "hidden") {
      this.on.changed("hidden"); // a page may be opened in the background
    } else {
      void this.connect();
    }
  }

  stop(): void {
    this.over = true;
    for (const name of ["online", "pageshow"]) {
      window.removeEventListener(name, this.wake);
    }
    document.removeEventListener("visibilitychange", this.wake);
    clearTimeout(this.hide);
    this.drop();
  }

  /** Tries again at once. */
  now(): void {
    if (!this.over) {
      this.drop();
      void this.connect();
    }
  }

  private drop(): void {
    clearTimeout(this.next);
    clearTimeout(this.quiet);
    this.abort?.abort();
    this.abort = undefined;
  }

  private woken(): void {
    if (this.over) {
      return;
    }
    clearTimeout(this.hide);
    if (document.visibilityState === "hidden") {
      this.hide = setTimeout(() => {
        this.drop();
        this.on.changed("hidden");
      }, hiddenAfter);
    } else if (this.abort === undefined || this.failures > 0) {
      this.failures = 0;
      this.now();
    }
  }

  /** Ends a connection on which nothing arrives. */
  private watch(): void {
    clearTimeout(this.quiet);
    const watched = this.abort;
    this.quiet = setTimeout(() => {
      if (this.abort === watched) {
        this.again();
      }
    }, silence);
  }

  private async connect(): Promise<void> {
    const mine = new AbortController();
    this.abort = mine;
    this.nextTry = 0;
    this.on.changed(this.failures > 0 ? "lost" : "connecting");
    try {
      this.watch();
      const response = await fetch(this.on.url(this.cursor), { signal: mine.signal, headers: { Accept: "text/event-stream" } });
      heardTime(response);
      if (!response.ok || response.body === null) {
        return this.refused(mine, response);
      }
      await this.read(mine, response.body.getReader());
    } catch {
      // the connection is lost
    }
    if (this.abort === mine) {
      this.again();
    }
  }

  private async read(mine: AbortController, reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    const parser = createParser({ onEvent: (frame) => this.take(mine, frame) });
    this.failures = 0;
    this.on.changed("live");
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      if (this.abort !== mine) {
        return;
      }
      this.watch();
      parser.feed(decoder.decode(next.value, { stream: true }));
    }
  }

  private take(mine: AbortController, frame: EventSourceMessage): void {
    if (this.abort !== mine) {
      return;
    }
    if (frame.event === "end") {
      this.stop();
      this.on.changed("ended");
      return;
    }
    if (frame.event === "reset") {
      this.cursor = "";
    }
    if (frame.event === "error") {
      this.stop();
      this.on.changed("refused", JSON.parse(frame.data) as Problem);
      return;
    }
    this.cursor = this.on.frame(frame) ?? this.cursor;
  }

  /** Asks again, unless the refusal is final. */
  private async refused(mine: AbortController, response: Response): Promise<void> {
    const problem = (await response.json().catch(() => ({ status: response.status, detail: response.statusText }))) as Problem;
    if (this.abort !== mine) {
      return;
    }
    if (!(this.on.final ?? isFinal)(response.status)) {
      this.again();
      return;
    }
    this.stop();
    this.on.changed("refused", problem);
  }

  private again(): void {
    this.drop();
    this.failures++;
    const pause = Math.min(longest, 200 * 2 ** Math.min(this.failures, 6)) * (0.5 + Math.random() / 2);
    this.nextTry = performance.now() + pause;
    this.on.changed("lost");
    this.next = setTimeout(() => void this.connect(), pause);
  }
}
