import type { Schemas } from "@omoi/client";
import type { ReactNode } from "react";

import { api, unwrap } from "../lib/api";
import { duration, grouped } from "../lib/format";
import { Text } from "../lib/text";
import { Act, because, type Action } from "./act";
import { Ago, Answer, Due, Mark, Panel, Table } from "./parts";
import { useMonitor, useSchedule, type ScheduleName } from "./queries";

type Schedule = Schemas["Schedule"];
export interface Run { word: string; tone: string }

/** What a schedule does. An idle one was paused by omoi, because nothing is left to do. */
export function stateOf(s: Schedule): Run {
  if (!s.exists) {
    return { word: "not created", tone: "unknown" };
  }
  if (s.paused_idle) {
    return { word: "idle", tone: "wait" };
  }
  return s.paused ? { word: "paused", tone: "needs" } : { word: s.running.length > 0 ? "running now" : "active", tone: "run" };
}

const does: Record<ScheduleName, string> = {
  guardian: "analyzes and steers agents", conductor: "compares all agents, finds duplicates", reaper: "deletes orphans and verifies their deletion", retention: "removes old data",
};

const without: Record<ScheduleName, string> = {
  guardian: "No agent is analyzed or steered until a user resumes the schedule.",
  conductor: "Duplicates are not found until a user resumes the schedule.",
  reaper: "Orphans are not found, and not deleted, until a user resumes the schedule.",
  retention: "Old data stays until a user resumes the schedule.",
};

/** The schedules of omoi, with what users can do to them. */
export function Schedules(): ReactNode {
  const monitor = useMonitor(), reaper = useSchedule("reaper"), retention = useSchedule("retention");
  const error = monitor.error ?? reaper.error ?? retention.error, s = monitor.data?.status;
  const rows = s && reaper.data && retention.data && [
    { name: "guardian", of: s.schedule }, { name: "conductor", of: s.conductor.schedule }, { name: "reaper", of: reaper.data }, { name: "retention", of: retention.data },
  ] satisfies { name: ScheduleName; of: Schedule }[];
  return (
    <Panel title="Schedules">
      <Answer of={{ data: rows, error }}>{(all) => (
        <Table label="Schedules" items={all} id={(r) => r.name} empty="" columns={[
          { head: "Schedule", cell: (r) => <><span className="strong">{r.name}</span> <span className="muted small">{does[r.name]}</span></> },
          { head: "State", cell: (r) => <><Mark {...stateOf(r.of)} />{r.of.paused && !r.of.paused_idle && <div className="small muted"><Text of={r.of.note} /></div>}</> },
          { head: "Last run", cell: (r) => (r.of.last_run_at === null ? "never" : <Ago at={r.of.last_run_at} />) },
          { head: "Next run", cell: (r) => (r.of.next_run_at === null ? "none" : <Due at={r.of.next_run_at} />) },
          { head: "Every", cell: (r) => duration(r.of.interval_seconds * 1000), right: true },
          { head: "Skipped, missed", cell: (r) => `${grouped(r.of.skipped)}, ${grouped(r.of.missed)}`, right: true },
          { head: "Actions", scope: "admin", cell: (r) => <Actions name={r.name} of={r.of} /> },
        ]} />
      )}</Answer>
    </Panel>
  );
}

function Actions({ name, of }: { name: ScheduleName; of: Schedule }): ReactNode {
  const params = { path: { name } }, shared = { of: name, scope: "admin", reason: "optional" } as const;
  const said = (s: Schedule): string => `${name} is ${stateOf(s).word}`;
  const pause: Action = {
    ...shared, word: "Pause…", title: `Pause the schedule ${name}?`, yes: "Pause the schedule", danger: true,
    effects: [without[name], "A run in progress continues.", "The schedule is paused for the whole installation."],
    send: (reason) => unwrap(api.POST("/api/v1/schedules/{name}/pause", { params, body: because(reason) })).then(said),
  };
  const resume: Action = {
    ...shared, word: "Resume…", title: `Resume the schedule ${name}?`, yes: "Resume the schedule", effects: ["Runs start again by themselves."],
    send: (reason) => unwrap(api.POST("/api/v1/schedules/{name}/resume", { params, body: because(reason) })).then(said),
  };
  const run: Action = {
    ...shared, reason: undefined, word: "Run now…", title: `Run ${name} now?`, yes: "Run now", effects: ["A run starts now, or after the run in progress.", "A paused schedule stays paused."],
    send: () => unwrap(api.POST("/api/v1/schedules/{name}/run", { params, body: {} })).then(() => "a run was started"),
  };
  return of.exists ? <span className="spread"><Act {...run} /><Act {...(of.paused ? resume : pause)} /></span> : null;
}
