import type { EventSourceMessage } from "eventsource-parser";
import { useEffect, useMemo, useReducer, useRef, useSyncExternalStore } from "react";

import type { Task } from "../lib/api";
import { heardVersion } from "../lib/version";
import { OpenStream } from "../stream/open";

/** Called for a task that changed. Without a task, any may have changed. */
type Reader = (task?: Task) => void;

/** How long lists wait for the stream, in milliseconds. What is read before it opens is read again after it. */
const patience = 500;

/** Learns from a stream which tasks of the list change. */
export class TaskChanges {
  private readonly readers = new Set<Reader>();
  private readonly waiting = new Set<() => void>();
  private limit: ReturnType<typeof setTimeout> | undefined;
  private ready = false;
  private readonly stream: OpenStream;

  constructor(project?: string) {
    this.stream = new OpenStream("tasks", {
      cursor: () => "",
      url: () => `/api/v1/tasks/stream${project === undefined ? "" : `?project_id=${encodeURIComponent(project)}`}`,
      frame: (frame) => this.frame(frame),
      final: (status) => status === 401 || status === 403, // an older server, during an update, does not know the stream
      changed: (state) => {
        document.documentElement.dataset["conn"] = state; // tests wait for it
        if (state === "refused") {
          this.told(); // the list says why
        }
      },
    });
  }

  start(): void {
    this.limit = setTimeout(() => this.open(), patience);
    this.stream.start();
  }

  stop(): void {
    clearTimeout(this.limit);
    this.stream.stop();
  }

  /** Whether lists may be read: the stream is open, or takes long. */
  readonly isOpen = (): boolean => this.ready;

  readonly onOpen = (reader: () => void): (() => void) => {
    this.waiting.add(reader);
    return () => this.waiting.delete(reader);
  };

  private open(): void {
    clearTimeout(this.limit);
    this.ready = true;
    this.waiting.forEach((reader) => reader());
  }

  readonly subscribe = (reader: Reader): (() => void) => {
    this.readers.add(reader);
    return () => this.readers.delete(reader);
  };

  private frame(frame: EventSourceMessage): undefined {
    switch (frame.event) {
      case "hello": // also after a lost connection: the stream has no past
        heardVersion((JSON.parse(frame.data) as { server_version: string }).server_version);
        this.told();
        break;
      case "reset":
        this.tell();
        break;
      case "task":
        this.tell((JSON.parse(frame.data) as { task: Task }).task);
    } // a newer server may send more
  }

  /** Lists that were not read yet are read; others are read again. */
  private told(): void {
    if (this.ready) {
      this.tell();
    } else {
      this.open();
    }
  }

  private tell(task?: Task): void {
    this.readers.forEach((reader) => reader(task));
  }
}

/** The changes of the tasks of a project, or of all, while the list is shown. */
export function useTaskChanges(project?: string): TaskChanges {
  const changes = useMemo(() => new TaskChanges(project), [project]);
  useEffect(() => {
    changes.start();
    return () => changes.stop();
  }, [changes]);
  return changes;
}

/** When a query of a list reads: once the stream is open, and again each time that the list is shown. */
export const useOpen = (changes: TaskChanges) => ({ enabled: useSyncExternalStore(changes.onOpen, changes.isOpen), staleTime: 0 });

/**
 * Reads again after changes that concern a query, at most once in some milliseconds. What is being read may be older
 * than a change: then it is read once more.
 */
export function useRefresh(changes: TaskChanges, concerns: (task?: Task) => boolean, query: { isFetching: boolean; refetch: () => unknown }, every: number): void {
  const { isFetching, refetch } = query;
  const [asked, ask] = useReducer((n: number) => n + 1, 0);
  const done = useRef(0), at = useRef(-Infinity), current = useRef(concerns);
  useEffect(() => {
    current.current = concerns;
  });
  useEffect(() => changes.subscribe((task) => current.current(task) && ask()), [changes]);
  useEffect(() => {
    if (asked === done.current || isFetching) {
      return undefined;
    }
    const timer = setTimeout(() => {
      done.current = asked;
      at.current = performance.now();
      void refetch();
    }, Math.max(0, at.current + every - performance.now()));
    return () => clearTimeout(timer);
  }, [asked, isFetching, refetch, every]);
}
