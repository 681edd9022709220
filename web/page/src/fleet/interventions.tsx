import type { Schemas } from "@omoi/client";
import type { ReactNode } from "react";

import { api, unwrap } from "../lib/api";
import { Text } from "../lib/text";
import { Act } from "./act";
import { Ago, Answer, Mark, Panel, Table, TaskLink } from "./parts";
import { useInterventions } from "./queries";
import { Rate } from "./rate";
import { percent } from "./verdicts";

type Intervention = Schemas["GuardianIntervention"];

/** What the guardian did to agents, or would have done: of all tasks, or of one. */
export function Interventions({ task }: { task?: string }): ReactNode {
  return (
    <Panel title="Interventions, newest first">
      <Answer of={useInterventions(task)}>{(items) => (
        <Table label="Interventions" items={items} id={(i) => i.id} empty="The guardian has not intervened yet." columns={[
          { head: "State", cell: (i) => <StateOf of={i} /> },
          { head: "Level", cell: (i) => <>{i.level} <span className="small muted">{i.steering_type}, {percent(i.confidence)}</span></> },
          { head: "Agent", cell: (i) => <TaskLink id={i.task_key} attempt={i.attempt}>{i.task_key}, attempt {i.attempt}</TaskLink> },
          { head: "Text", cell: (i) => <><Text of={i.content} /><div className="small muted"><Text of={i.reason} /></div></> },
          { head: "Right?", cell: (i) => <Rate of={`${i.level} of ${i.task_key}`} rating={i.rating} send={(rating) => unwrap(api.PUT("/api/v1/guardian/interventions/{id}/rating", { params: { path: { id: i.id } }, body: { rating } }))} /> },
          { head: "Decided", cell: (i) => <Ago at={i.planned_at} /> },
          { head: "Actions", scope: "write", cell: (i) => <Withdraw of={i} /> },
        ]} />
      )}</Answer>
    </Panel>
  );
}

const tones: Record<string, string> = { planned: "wait", recorded: "wait", sent: "run", rejected: "fail", expired: "wait", withdrawn: "wait" };

function StateOf({ of }: { of: Intervention }): ReactNode {
  const receipt = of.message_state || of.command_state;
  return (
    <>
      <Mark tone={tones[of.state] ?? "unknown"} word={of.state} />
      {of.shadow && <div className="small muted">shadow mode: never sent</div>}
      {receipt !== "" && <div className="small muted">{of.message_state !== "" ? "message" : "command"} {receipt.replaceAll("_", " ")}</div>}
    </>
  );
}

function Withdraw({ of }: { of: Intervention }): ReactNode {
  return of.state === "planned" || of.state === "sent" && of.message_state === "accepted" ? (
    <Act word="Withdraw…" of={`${of.level} of ${of.task_key}`} title={`Withdraw the ${of.level} of ${of.task_key}?`} yes="Withdraw it" scope="write"
      effects={["The agent does not get the message.", "The intervention stays in this list as withdrawn.", "A message that the agent already has stays with the agent."]}
      send={() => unwrap(api.POST("/api/v1/guardian/interventions/{id}/withdraw", { params: { path: { id: of.id } } })).then((i) => i.state)} />
  ) : null;
}
