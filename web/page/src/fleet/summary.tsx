import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { useNow } from "../lib/clock";
import { age, grouped } from "../lib/format";
import { Ago } from "./parts";
import { useCapacity, useMonitor, useReadiness, useSchedule } from "./queries";
import type { FleetSearch } from "./search";
import { stateOf, type Run } from "./schedules";

/** The numbers that tell whether all is well, each a link to what is behind it. */
export function Summary(): ReactNode {
  const capacity = useCapacity().data, ready = useReadiness().data;
  const down = ready?.dependencies.filter((d) => d.state === "down");
  const boxes = capacity?.sandboxes, failing = (name: string): boolean => down?.some((d) => d.name === name) ?? false;
  return (
    <nav className="figures" aria-label="Figures">
      <Figure word="Slots" to={{ tab: "capacity" }} value={capacity && `${grouped(capacity.running_tasks)}${capacity.concurrency_limit === null ? "" : ` of ${grouped(capacity.concurrency_limit)}`}`}
        note={capacity?.paused ? "no task starts" : capacity?.concurrency_limit === null ? "no limit" : undefined} bad={capacity?.paused} />
      <Figure word="Queue" to={{ tab: "queue" }} value={capacity && grouped(capacity.queued_tasks)}
        note={capacity?.oldest_queued_at != null ? <>oldest <Ago at={capacity.oldest_queued_at} /></> : undefined} />
      <Figure word="Deletion not verified" to={{ tab: "sandboxes", show: "unverified" }} value={boxes && grouped(boxes.unverified)}
        note={boxes?.oldest_unverified_at != null ? <>oldest ended <Ago at={boxes.oldest_unverified_at} /></> : undefined} bad={failing("sandboxes")} />
      <Figure word="Alerts" to={{ tab: "server" }} value={down && grouped(down.length)} note={down?.map((d) => d.name).join(", ")} bad={(down?.length ?? 0) > 0} />
      <Cycles failing={failing} />
      <Reaper />
    </nav>
  );
}

function Cycles({ failing }: { failing: (name: string) => boolean }): ReactNode {
  const monitor = useMonitor().data, at = useNow();
  const ended = (seconds: number | null): string => (seconds === null ? "never" : `${age(at - monitor!.at + seconds * 1000)} ago`);
  const s = monitor?.status;
  return (
    <>
      <Figure word="Guardian" to={{ tab: "supervision" }} value={s && ended(s.timing.last_run_age_seconds)} run={s && stateOf(s.schedule)} bad={failing("guardian")} />
      <Figure word="Conductor" to={{ tab: "supervision", list: "duplicates" }} value={s && ended(s.conductor.last_run_age_seconds)} run={s && stateOf(s.conductor.schedule)} bad={failing("conductor")} />
    </>
  );
}

function Reaper(): ReactNode {
  const schedule = useSchedule("reaper").data, last = schedule?.last_run_at;
  return <Figure word="Reaper" to={{ tab: "supervision" }} value={schedule && (last == null ? "never" : <Ago at={last} />)} run={schedule && stateOf(schedule)} />;
}

interface FigureProps { word: string; to: FleetSearch; value: ReactNode; note?: ReactNode; run?: Run; bad?: boolean }

function Figure({ word, to, value, note, run, bad }: FigureProps): ReactNode {
  return (
    <Link className="figure" to="/fleet" search={to} data-figure={word}>
      <span className="small muted">{word}</span>
      <strong className={bad ? "bad" : undefined}>{value ?? "…"}</strong>
      <span className={`small ${run === undefined ? "muted" : `s-${run.tone}`}`}>{run?.word ?? note}</span>
    </Link>
  );
}
