import type { Event } from "../lib/api";
import type { TaskEvents } from "../stream/events";
import type { AttemptLog } from "../stream/store";
import { Fields } from "../timeline/fields";

/** Silences are cut to this. */
const silence = 2000;
/** Less than two pictures of a screen, in milliseconds. */
const picture = 33;

/** Where a player goes next, and after which time. speed 0: as fast as it can be drawn. */
export function step(log: AttemptLog, n: number, speed: number): { to: number; wait: number } {
  if (speed === 0) {
    return { to: Math.min(log.head, n + Math.ceil(log.head / 600)), wait: picture };
  }
  let to = n, wait = 0;
  while (to < log.head) {
    const gap = Math.min(silence, Math.max(0, between(log, to))) / speed;
    if (to > n && wait + gap > picture) {
      break;
    }
    to++;
    wait += gap;
  }
  return { to, wait };
}

const between = (log: AttemptLog, n: number): number => (log.timeAt(n) > 0 && log.timeAt(n + 1) > 0 ? log.timeAt(n + 1) - log.timeAt(n) : 0);

export type Mark = "message" | "error" | "commit" | "iteration" | "checkpoint";

const marks: Record<string, Mark> = {
  "agent.message_injected": "message", "agent.error": "error", "agent.failed": "error", "iteration.failed": "error", "agent.committed": "commit",
  "iteration.started": "iteration", "agent.checkpoint": "checkpoint",
};

/** The events at which a reader may want to look. */
export function marksOf(log: AttemptLog): { n: number; mark: Mark }[] {
  const found: { n: number; mark: Mark }[] = [];
  for (let n = 1; n <= log.head; n++) {
    const type = log.typeAt(n), mark = type === "agent.tool_result" && log.failures.has(log.rowOf(n)) ? "error" : marks[type];
    if (mark !== undefined) {
      found.push({ n, mark });
    }
  }
  return found;
}

const costly = new Set(["agent.assistant_message", "agent.completed", "agent.error", "agent.failed"]);
const furthest = 300; // events with a cost

export interface Spent { usd: number | undefined; tokens: number; unknown: boolean }

/** What the attempt had cost at an event, as its agent had reported by then. undefined: this is loading; null: nothing was reported. */
export function spentAt(events: TaskEvents, log: AttemptLog, until: number): Spent | null | undefined {
  for (let n = until, seen = 0; n > 0 && seen < furthest; n--) {
    if (log.typeAt(n) !== "" && !costly.has(log.typeAt(n))) {
      continue;
    }
    const event = log.body(n);
    if (event === undefined) {
      events.need(log, n);
      return undefined;
    }
    const spent = spentOf(Fields.of(event));
    if (spent !== undefined) {
      return spent;
    }
    seen++;
  }
  return null;
}

function spentOf(f: Fields): Spent | undefined {
  const usd = f.number("total_cost_usd") ?? f.number("cost_usd"), total = f.object("total_usage");
  const tokens = (f.number("input_tokens") ?? total.number("input_tokens") ?? 0) + (f.number("output_tokens") ?? total.number("output_tokens") ?? 0);
  return usd === undefined && tokens === 0 ? undefined : { usd, tokens, unknown: f.is("cost_unknown") };
}

/** The newest checkpoint at an event. undefined: this is loading; null: there was none. */
export function checkpointAt(events: TaskEvents, log: AttemptLog, until: number): Event | null | undefined {
  for (let n = until; n > 0; n--) {
    if (log.typeAt(n) === "" || log.typeAt(n) === "agent.checkpoint") {
      const event = log.body(n);
      if (event === undefined) {
        events.need(log, n);
        return undefined;
      }
      if (event.event_type === "agent.checkpoint") {
        return event;
      }
    }
  }
  return null;
}
