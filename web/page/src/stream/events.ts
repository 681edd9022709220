import type { EventSourceMessage } from "eventsource-parser";

import { codeOf, getOutline, getRange, said, type Event, type Problem, type Task } from "../lib/api";
import { heardVersion } from "../lib/version";
import type { Connection } from "./connection";
import { OpenStream } from "./open";
import { takeOutline } from "./outline";
import { AttemptLog, pageOf, pageSize } from "./store";

/** A stream of a task begins this far before the newest event; the outline tells of the events before, ranges have their bodies. */
const tail = 500;
/** Arrivals are drawn at most this often. */
const drawEvery = 100;
const atOnce = 2;
/** Refusals after which a range is not asked for again. */
const final = new Set(["data_removed", "gone", "not_found", "forbidden"]);

export const keyOf = (log: AttemptLog, n: number): string => `${log.attempt}:${pageOf(n)}`;

/** The first frame of a stream. */
interface Hello { server_version: string; attempts: { attempt: number; last_sequence: number }[] }

/** What a stream brings besides events. */
interface News {
  /** The task as it is now, whole. */
  task?: (task: Task) => void;
  /** Something changed that only other routes tell. */
  changed?: () => void;
}

/** The events of a task: one log for each attempt, filled by one stream and by ranges on demand. */
export class TaskEvents {
  readonly logs = new Map<number, AttemptLog>();
  connection: Connection = "connecting";
  problem: Problem | undefined;
  version = 0;
  news: News = {};
  /** Why events will not come, by page. */
  readonly refusals = new Map<string, string>();
  private readonly sandboxes = new Map<number, string>();
  private readonly stream = new OpenStream("stream", {
    cursor: () => this.cursor(),
    url: (cursor) => `/api/v1/tasks/${encodeURIComponent(this.task.id)}/stream?state=true&after=${encodeURIComponent(cursor)}`,
    frame: (frame) => this.frame(frame),
    changed: (state, problem) => this.changed(state, problem),
  });
  private readonly readers = new Set<() => void>();
  private drawing: ReturnType<typeof setTimeout> | undefined;
  private readonly wanted = new Map<string, [AttemptLog, number]>();
  private fetching = 0;

  constructor(private readonly task: Task) {
    this.learn(task);
  }

  log(attempt: number): AttemptLog {
    const known = this.logs.get(attempt) ?? new AttemptLog(attempt);
    this.logs.set(attempt, known);
    return known;
  }

  /** Takes the number of events of each attempt from the task. */
  learn(task: Task): void {
    for (const a of task.attempts) {
      this.sandboxes.set(a.number, a.sandbox_id);
      this.log(a.number).grow(a.events);
    }
    if (this.connection === "ended" && task.completed_at === null) {
      this.start(); // the task was started again
    }
  }

  start(): void {
    this.stream.start();
  }

  stop(): void {
    this.stream.stop();
    clearTimeout(this.drawing);
    this.drawing = undefined;
  }

  /** The stream brings the events of this attempt from this number on. */
  private streamed = { attempt: 0, from: 0 };

  /** Whether the stream will bring an event that was not seen yet. */
  private comes(log: AttemptLog, n: number): boolean {
    return this.stream.started && log.attempt >= this.streamed.attempt && (log.attempt > this.streamed.attempt || n > this.streamed.from) &&
      !log.seen.has(n) && this.connection !== "refused" && this.connection !== "ended";
  }

  /** Where the stream begins: behind what is held of the newest attempt, else near its end. */
  private cursor(): string {
    const newest = Math.max(0, ...this.logs.keys());
    if (newest === 0) {
      this.streamed = { attempt: 0, from: 0 };
      return "";
    }
    const log = this.log(newest), held = log.seen.list.at(-1)?.[1];
    this.streamed = { attempt: newest, from: held ?? Math.max(0, log.head - tail) };
    return `${newest}:${this.streamed.from}`;
  }

  private frame(frame: EventSourceMessage): string | undefined {
    switch (frame.event) {
      case "reset":
        this.logs.forEach((log) => log.clear());
        break;
      case "hello":
        this.hello(JSON.parse(frame.data) as Hello);
        return undefined;
      case "task":
        this.news.task?.((JSON.parse(frame.data) as { task: Task }).task);
        this.news.changed?.();
        return undefined;
      case "sandbox":
        this.news.changed?.();
        return undefined;
      case "event": {
        const event = JSON.parse(frame.data) as Event;
        this.begun(event.attempt);
        this.log(event.attempt).add(event, frame.data.length);
      }
    } // a newer server may send more
    this.draw();
    return frame.event === "event" ? frame.id : undefined;
  }

  private newest = 0;

  /** Frees the memory of earlier attempts when the events of the next one begin. */
  private begun(attempt: number): void {
    if (attempt > this.newest) {
      this.newest = attempt;
      this.logs.forEach((log) => log.attempt < attempt && log.shrink());
    }
  }

  private hello(of: Hello): void {
    heardVersion(of.server_version);
    of.attempts.forEach((a) => this.log(a.attempt).grow(a.last_sequence));
    this.draw();
  }

  private changed(state: Connection, problem?: Problem): void {
    if (state === "ended") {
      this.news.changed?.();
    }
    this.connection = state;
    this.problem = problem;
    this.draw();
  }

  /** Fetches the bodies of a page of an attempt, if they are not on their way. */
  need(log: AttemptLog, n: number): void {
    const key = keyOf(log, n);
    if (!this.wanted.has(key) && !this.refusals.has(key) && !this.comes(log, n)) {
      this.wanted.set(key, [log, pageOf(n)]);
      void this.fetchNext();
    }
  }

  private outlining = false;

  /** Loads the outline of an attempt, if there are events of which the page knows nothing and that the stream does not bring. */
  async outline(log: AttemptLog): Promise<void> {
    const lacks = (): boolean => log.missing().some(([from]) => !this.comes(log, from));
    const sandbox = this.sandboxes.get(log.attempt), key = `${log.attempt}:outline`;
    if (this.outlining || this.refusals.has(key) || this.connection === "connecting" || sandbox === undefined || !lacks()) {
      return;
    }
    this.outlining = true;
    try {
      for (let held = -1; lacks() && log.outlined > held;) {
        held = log.outlined;
        takeOutline(log, await getOutline(sandbox, log.outlined));
        this.draw();
      }
    } catch (error) {
      if (final.has(codeOf(error))) {
        this.refusals.set(key, said(error));
      }
      await new Promise((resolve) => setTimeout(resolve, 5000)); // rows are loaded as they come into view, meanwhile
      this.draw(); // the outline is asked for again
    } finally {
      this.outlining = false;
    }
  }

  /** The sandbox of an attempt. */
  sandboxOf(attempt: number): string | undefined {
    return this.sandboxes.get(attempt);
  }

  private readonly underWay = new Set<string>();

  private async fetchNext(): Promise<void> {
    const next = [...this.wanted].filter(([key]) => !this.underWay.has(key)).at(-1); // what was asked for last is in view
    if (next === undefined || this.fetching >= atOnce) {
      return;
    }
    const [key, [log, page]] = next;
    this.fetching++;
    this.underWay.add(key);
    try {
      await this.range(log, page);
      this.wanted.delete(key);
      this.draw();
    } catch (error) {
      if (final.has(codeOf(error))) {
        this.refusals.set(key, said(error));
      }
      setTimeout(() => {
        this.wanted.delete(key);
        this.draw(); // what is still in view is asked for again
      }, 2000);
    } finally {
      this.fetching--;
      this.underWay.delete(key);
      if (this.wanted.size > this.underWay.size) {
        void this.fetchNext();
      }
    }
  }

  private async range(log: AttemptLog, page: number): Promise<void> {
    const sandbox = this.sandboxes.get(log.attempt), to = Math.min((page + 1) * pageSize, log.head);
    for (let from = page * pageSize + 1; sandbox !== undefined && from <= to;) {
      const answer = await getRange(sandbox, from, to);
      for (const e of answer.items) {
        if (log.body(e.sequence) === undefined && !this.comes(log, e.sequence)) {
          log.add(e, JSON.stringify(e.event_data).length + 200);
        }
      }
      from = answer.to + 1;
    }
  }

  /** Tells readers that something changed, at most ten times a second. */
  private draw(): void {
    this.drawing ??= setTimeout(() => {
      this.drawing = undefined;
      this.version++;
      this.readers.forEach((reader) => reader());
    }, drawEvery);
  }

  readonly subscribe = (reader: () => void): (() => void) => {
    this.readers.add(reader);
    return () => this.readers.delete(reader);
  };

  readonly snapshot = (): number => this.version;
}
