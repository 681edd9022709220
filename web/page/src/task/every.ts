import type { Message } from "../lib/api";
import { now } from "../lib/clock";

/** How often the state of a message is asked for. An answer may come long after the agent acknowledged the message. */
export function everyOf(message: Message | undefined): number | false {
  if (message === undefined || message.settled_at === null) {
    return 1500;
  }
  return message.state !== "acknowledged" ? false : now() - Date.parse(message.settled_at) > 60_000 ? 15_000 : 1500;
}
