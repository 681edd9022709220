import type { Schemas } from "@omoi/client";
import { Link, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { now } from "../lib/clock";
import { grouped } from "../lib/format";
import { exactly } from "../lib/links";
import { Text } from "../lib/text";
import { GuardianActions } from "./actions";
import { Diagnoses, Duplicates } from "./conductor";
import { Interventions } from "./interventions";
import { Answer, Evidence, Mark, Panel, TaskLink } from "./parts";
import { useJudged, useMonitor, useRatings } from "./queries";
import { Schedules } from "./schedules";
import { records } from "./search";
import { percent, Verdicts } from "./verdicts";

const lists = { verdicts: Verdicts, interventions: Interventions, duplicates: Duplicates, diagnoses: Diagnoses, actions: GuardianActions };

/** What guardian and conductor see, said and did. */
export function Supervision(): ReactNode {
  const { list = "verdicts" } = useSearch({ from: "/fleet" });
  const List = lists[list];
  return (
    <>
      <Agents />
      <Schedules />
      <nav className="chips" aria-label="Records">
        {records.map((r) => <Link key={r.id} className="chip" to="/fleet" search={{ tab: "supervision", list: r.id }} aria-current={list === r.id ? "true" : undefined} activeOptions={exactly}>{r.word}</Link>)}
      </nav>
      <List />
    </>
  );
}

// Only what the server calls good is green.
const tones: Record<string, string> = { optimal: "done", good: "done", normal: "done", warning: "needs", inefficient: "needs", critical: "fail" };

/** The newest analyses in numbers, and how the guardian may act. */
function Agents(): ReactNode {
  const status = useMonitor().data?.status, config = status?.config, conflicts = status?.conductor.last_analysis?.details.conflicts ?? [];
  return (
    <Panel title="Active agents">
      <Answer of={useJudged()}>{(h) => (
        <>
          <dl className="defs">
            <dt>Alignment</dt>
            <dd><Health word={h.system_health} /> {h.average_alignment !== null && `mean ${h.average_alignment.toFixed(2)}, `}{grouped(h.active_agents)} active: {grouped(h.agents_analyzed)} with a score, {grouped(h.agents_unknown)} not checked, {grouped(h.agents_need_steering)} need steering</dd>
            <dt>Coherence</dt>
            <dd><Health word={h.current_status} /> {h.current_coherence !== null && h.current_coherence.toFixed(2)}</dd>
            {config !== undefined && <><dt>Guardian</dt><dd>{!config.enabled ? "switched off" : `${config.auto_steering_enabled ? "steers agents" : "shadow mode: records, sends nothing"}, unless a project says otherwise; ${config.llm_analysis_enabled ? "rules and a model" : "rules only, no model is configured"}`}</dd></>}
            <Ratings />
            {h.model_error !== undefined && h.model_error !== "" && <><dt>Model</dt><dd><Mark tone="unknown" word="Model unavailable" /> <Text of={h.model_error} /></dd></>}
          </dl>
          {conflicts.map((c) => <Conflict key={c.kind + c.why} of={c} />)}
          {(h.recommendations ?? []).filter((r) => !conflicts.some((c) => c.why === r)).map((r) => <p key={r} className="message small"><Text of={r} /></p>)}
        </>
      )}</Answer>
    </Panel>
  );
}

/** A fact that speaks against coherence, with the events that show it. */
function Conflict({ of }: { of: Schemas["AnalysisConflict"] }): ReactNode {
  return (
    <div className="message small" data-conflict={of.kind}>
      <Text of={of.why} /> {of.evidence?.map((p) => <span key={p.task_id}><TaskLink id={p.task_key} attempt={p.attempt}>{p.task_key}</TaskLink> <Evidence task={p.task_key} attempt={p.attempt} events={p.events} /> </span>)}
    </div>
  );
}

const days = (since: string): number => Math.round((now() - Date.parse(since)) / 86_400_000);

/** What users say of interventions. Unrated ones are neither right nor wrong. */
function Ratings(): ReactNode {
  const r = useRatings().data;
  return r !== undefined && (
    <>
      <dt>Ratings</dt>
      <dd>{grouped(r.interventions.total)} interventions in {days(r.period_started_at)} days: {grouped(r.interventions.right)} right, {grouped(r.interventions.wrong)} wrong, {grouped(r.interventions.unrated)} not rated{r.interventions.share_right !== null && `; ${percent(r.interventions.share_right)} of the rated ones right`}</dd>
      <dt>False positives</dt>
      <dd>{r.false_positives_per_agent_hour === null ? "unknown: no agent has run" : `${r.false_positives_per_agent_hour.toFixed(3)} per agent-hour (${grouped(r.false_positives)} in ${r.agent_hours.toFixed(1)} agent-hours)`}</dd>
    </>
  );
}

function Health({ word }: { word: string }): ReactNode {
  return <Mark tone={tones[word] ?? "unknown"} word={word === "not_run" ? "not checked" : word.replaceAll("_", " ")} />;
}
