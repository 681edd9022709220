import type { EventSourceMessage } from "eventsource-parser";

import type { Problem } from "../lib/api";
import { setLost } from "../lib/reach";
import { isOut, onSession, refused } from "../lib/session";
import { Stream, type Connection } from "./connection";

interface OpenHandlers {
  /** Where the stream begins, each time that it starts. */
  cursor: () => string;
  url: (cursor: string) => string;
  frame: (frame: EventSourceMessage) => string | undefined;
  changed: (state: Connection, problem?: Problem) => void;
  final?: (status: number) => boolean;
}

/** A stream that the page keeps open: it says when the stream is lost, asks for the login, and starts again after it. */
export class OpenStream {
  private stream: Stream | undefined;
  private unwatch: (() => void) | undefined;
  private state: Connection = "connecting";

  /** name: of the stream, among those whose loss the page shows. */
  constructor(private readonly name: string, private readonly on: OpenHandlers) {}

  get started(): boolean {
    return this.stream !== undefined;
  }

  start(): void {
    this.unwatch ??= onSession(() => {
      if (!isOut() && this.state === "refused") {
        this.start(); // signed in again
      }
    });
    this.stream?.stop();
    this.stream = new Stream(this.on.cursor(), {
      url: this.on.url,
      frame: this.on.frame,
      final: this.on.final,
      changed: (state, problem) => this.changed(state, problem),
    });
    this.stream.start();
  }

  stop(): void {
    this.stream?.stop();
    this.stream = undefined;
    setLost(this.name, undefined);
    this.unwatch?.();
    this.unwatch = undefined;
  }

  private changed(state: Connection, problem?: Problem): void {
    if (state === "lost" && this.state !== "lost") {
      setLost(this.name, { since: performance.now(), nextTry: () => this.stream?.nextTry ?? 0, now: () => this.stream?.now() });
    } else if (state !== "lost") {
      setLost(this.name, undefined);
    }
    this.state = state;
    this.on.changed(state, problem);
    if (problem?.status === 401) {
      refused();
    }
  }
}
