import "./output.css";
import { useState, type ReactNode, type Ref } from "react";

import type { TaskEvents } from "../stream/events";
import type { AttemptLog } from "../stream/store";
import { List, type ListHandle } from "../timeline/list";
import { Block } from "./block";
import type { Command } from "./commands";

interface Props {
  events: TaskEvents;
  log: AttemptLog;
  commands: Command[];
  /** The time of the moment that is shown; undefined: now. */
  at?: number;
  running: boolean;
  find: string;
  handle?: Ref<ListHandle>;
}

/** The commands of an attempt, each with its output. */
export function Commands({ events, log, commands, at, running, find, handle }: Props): ReactNode {
  const [follow, setFollow] = useState(true), count = commands.length;
  const row = (n: number): ReactNode => {
    const { start, ends } = commands[n]!, held = [start, ...ends].map((s) => log.body(s) ?? events.need(log, s)).filter((e) => e !== undefined);
    return held.length <= ends.length ? <div className="hole">…</div> : <Block start={held[0]!} ends={held.slice(1)} running={running} find={find} at={at} />;
  };
  if (count === 0) {
    return <p className="empty muted">{at === undefined ? "The agent has run no command yet." : "No command had run at this event."}</p>;
  }
  return <List count={count} label="Commands of the agent" row={row} follow={follow} onFollow={setFollow} handle={handle} />;
}
