import { useEffect, useState, useSyncExternalStore } from "react";

import type { Task } from "../lib/api";
import { TaskEvents } from "./events";
import type { AttemptLog } from "./store";

/** Learns what is not known of the events of an attempt, without their bodies. version changes when events arrive. */
export function useOutline(events: TaskEvents, log: AttemptLog, version: number): void {
  useEffect(() => void events.outline(log), [events, log, version]);
}

/** The events of a task without its stream: they stand still until the page is loaded again. */
export function useStill(task: Task): { events: TaskEvents; version: number } {
  const [events] = useState(() => {
    const still = new TaskEvents(task);
    still.connection = "ended"; // nothing comes
    return still;
  });
  return { events, version: useSyncExternalStore(events.subscribe, events.snapshot) };
}
