import type { Schemas } from "@omoi/client";
import type { ReactNode } from "react";

import { api, unwrap } from "../lib/api";
import { Text } from "../lib/text";
import { Ago, Answer, Evidence, Mark, Panel, Table, TaskLink } from "./parts";
import { useMonitor, useVerdicts } from "./queries";
import { Rate } from "./rate";

type Analysis = Schemas["GuardianAnalysis"];

/** The analyses of the guardian, with their reasons: of all tasks, or of one. */
export function Verdicts({ task }: { task?: string }): ReactNode {
  const model = useMonitor().data?.status.config.llm_analysis_enabled;
  return (
    <Panel title="Verdicts, newest first">
      <Answer of={useVerdicts(task)}>{(items) => (
        <Table label="Verdicts" items={items} id={(a) => a.id} empty="The guardian has analyzed no agent yet." columns={[
          { head: "Verdict", cell: (a) => <><VerdictMark of={a} />{a.source !== "none" && <div className="small muted">by {a.source === "model" ? "the model" : a.source}</div>}</> },
          { head: "Agent", cell: (a) => <TaskLink id={a.task_id} attempt={a.attempt}><Text of={a.subject.title} />, attempt {a.attempt}</TaskLink> },
          { head: "Why", cell: (a) => <Why of={a} model={model} /> },
          { head: "Confidence", cell: (a) => (a.verdict === "unknown" ? "–" : percent(a.confidence)), right: true },
          { head: "Alignment", cell: (a) => (a.alignment_score === null ? "–" : a.alignment_score.toFixed(2)), right: true },
          { head: "Analyzed", cell: (a) => <Ago at={a.analyzed_at} /> },
        ]} />
      )}</Answer>
    </Panel>
  );
}

export const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** Healthy alone is green. An agent that was not analyzed, and a model that did not answer, are states of their own. */
export function VerdictMark({ of }: { of: Analysis }): ReactNode {
  if (of.verdict === "steer") {
    return <Mark tone="needs" word="Needs steering" />;
  }
  if (of.verdict === "healthy") {
    return <Mark tone="done" word="Healthy" />;
  }
  if (of.verdict !== "unknown") {
    return <Mark tone="unknown" word={of.verdict} />;
  }
  return <Mark tone="unknown" word={(of.analysis.trouble ?? "") !== "" ? "Model unavailable" : of.source === "none" ? "Not checked" : "Not sure"} />;
}

function Why({ of, model }: { of: Analysis; model?: boolean }): ReactNode {
  const { findings, trouble, recommendation } = of.analysis, opinion = of.analysis.model;
  return (
    <>
      {(findings ?? []).map((f) => <div key={f.rule}><b>{f.label}</b>: <Text of={f.why} /> <Evidence task={of.task_id} attempt={of.attempt} events={f.evidence} /> <RateFinding of={of} rule={f.rule} /></div>)}
      {opinion != null && <div><b><Text of={opinion.label} /></b>: <Text of={opinion.summary} /> <Evidence task={of.task_id} attempt={of.attempt} events={opinion.evidence} /> <span className="small muted"><Text of={opinion.model} /></span></div>}
      {trouble !== undefined && trouble !== "" && <div className="s-unknown"><Text of={trouble} /></div>}
      {of.verdict === "unknown" && (findings ?? []).length === 0 && <div className="muted">Rules found no fault. {model === false && "No model is configured."}</div>}
      {of.needs_steering && recommendation !== undefined && <div className="muted">Advice: <Text of={recommendation} /></div>}
    </>
  );
}

function RateFinding({ of, rule }: { of: Analysis; rule: string }): ReactNode {
  return <Rate of={`the finding ${rule}`} rating={of.ratings.find((r) => r.rule === rule)} send={(rating) => unwrap(api.PUT("/api/v1/guardian/analyses/{id}/findings/{rule}/rating", { params: { path: { id: of.id, rule } }, body: { rating } }))} />;
}
