import type { ReactNode } from "react";

import { many } from "../lib/format";
import { Status } from "../lib/status";
import { Text } from "../lib/text";
import { Ago, Answer, Mark, Panel, Table, TaskLink } from "./parts";
import { useDiagnoses, useDuplicates } from "./queries";
import { percent } from "./verdicts";

interface Work { key: string; title: string; status: string }

/** Pairs of tasks about the same work. */
export function Duplicates(): ReactNode {
  return (
    <Panel title="Duplicates, last found first">
      <Answer of={useDuplicates()}>{(items) => (
        <Table label="Duplicates" items={items} id={(d) => d.id} empty="The conductor has found no duplicate. Without a model, it finds equal and nearly equal texts only." columns={[
          { head: "Similarity", cell: (d) => <><span className="strong">{percent(d.similarity_score)}</span><div className="small muted">by {d.source === "text" ? "equal or nearly equal texts" : d.source}</div></> },
          { head: "First task", cell: (d) => <WorkOf of={{ key: d.task1_key, title: d.task1_title, status: d.task1_status }} /> },
          { head: "Second task", cell: (d) => <WorkOf of={{ key: d.task2_key, title: d.task2_title, status: d.task2_status }} /> },
          { head: "What is the same", cell: (d) => <><Text of={d.work_description} />{(d.resources.files ?? []).map((f) => <div key={f}><code className="small"><Text of={f} /></code></div>)}</> },
          { head: "Last found", cell: (d) => <><Ago at={d.seen_at} /> <span className="small muted">in {many(d.cycles, "cycle")}</span></> },
        ]} />
      )}</Answer>
    </Panel>
  );
}

function WorkOf({ of }: { of: Work }): ReactNode {
  return <><TaskLink id={of.key}><span className="muted">{of.key}</span> <Text of={of.title} /></TaskLink><div className="small"><Status word={of.status} /></div></>;
}

/** Likely causes of failures, and what a user can do. */
export function Diagnoses(): ReactNode {
  return (
    <Panel title="Diagnoses, newest first">
      <Answer of={useDiagnoses()}>{(items) => (
        <Table label="Diagnoses" items={items} id={(d) => d.id} empty="Nothing was diagnosed yet." columns={[
          { head: "What failed", cell: (d) => <><TaskLink id={d.task_id}><Text of={d.summary} /></TaskLink><div className="small muted"><Text of={d.reason} /></div></> },
          { head: "Likely cause", cell: (d) => <>{d.cause === "" ? <Mark tone="unknown" word="unknown" /> : <Text of={d.cause} />} {d.model_error !== "" && <div className="small"><Mark tone="unknown" word="Model unavailable" /> <Text of={d.model_error} /></div>}</> },
          { head: "Next", cell: (d) => <><Text of={d.proposal} /> {d.command !== "" && <code className="span"><Text of={d.command} /></code>}</> },
          { head: "Confidence", cell: (d) => (d.cause === "" ? "–" : <>{percent(d.confidence)} <span className="small muted">by {d.source}</span></>), right: true },
          { head: "Created", cell: (d) => <Ago at={d.created_at} /> },
        ]} />
      )}</Answer>
    </Panel>
  );
}
