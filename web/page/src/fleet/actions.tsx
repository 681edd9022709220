import type { Schemas } from "@omoi/client";
import type { ReactNode } from "react";

import { api, unwrap } from "../lib/api";
import { Text } from "../lib/text";
import { Act } from "./act";
import { Ago, Answer, Mark, Panel, Table, TaskLink } from "./parts";
import { useGuardianActions } from "./queries";

type GuardianAction = Schemas["GuardianAction"];

/** What users did by the routes of the guardian, with a way back. */
export function GuardianActions(): ReactNode {
  return (
    <Panel title="Guardian actions of users, newest first">
      <Answer of={useGuardianActions()}>{(items) => (
        <Table label="Guardian actions" items={items} id={(a) => a.action_id} empty="No user acted by the routes of the guardian." columns={[
          { head: "Action", cell: (a) => <>{a.action_type.replaceAll("_", " ")}<div className="small muted">{a.authority_name.toLowerCase()}</div></> },
          { head: "Target", cell: (a) => (a.action_type === "reallocate_capacity" ? <Text of={a.target_entity} /> : <TaskLink id={a.target_entity}><Text of={a.target_entity} /></TaskLink>) },
          { head: "By", cell: (a) => <Text of={a.initiated_by} /> },
          { head: "Reason", cell: (a) => <Text of={a.reason} /> },
          { head: "Done", cell: (a) => (a.executed_at === null ? "not applied" : <Ago at={a.executed_at} />) },
          { head: "Reverted", cell: (a) => (a.reverted_at === null ? <Revert of={a} /> : <Reverted of={a} at={a.reverted_at} />) },
        ]} />
      )}</Answer>
    </Panel>
  );
}

const effects: Record<string, string> = {
  cancel_task: "The task is retried on the same branch. Work that the ended attempt did not save stays lost.",
  override_priority: "The task gets its former priority again.",
  reallocate_capacity: "The slots go back to the project that gave them.",
};

function Revert({ of }: { of: GuardianAction }): ReactNode {
  const what = of.action_type.replaceAll("_", " ");
  return (
    <Act word="Revert…" of={what} title={`Revert ${what}?`} yes="Revert" danger scope="admin" reason="required"
      effects={[effects[of.action_type] ?? "The action is reverted as far as possible.", "The answer names what could not be reverted."]}
      send={(reason) => unwrap(api.POST("/api/v1/guardian/actions/{action_id}/revert", { params: { path: { action_id: of.action_id } }, body: { reason } }))
        .then((r) => [...r.reverted_items, ...r.not_reverted].join(" "))} />
  );
}

function Reverted({ of, at }: { of: GuardianAction; at: string }): ReactNode {
  return <><Mark tone="wait" word="reverted" /> <span className="small muted"><Ago at={at} /></span>{[...(of.audit_log.undone ?? []), ...(of.audit_log.not_undone ?? [])].map((s) => <div key={s} className="small"><Text of={s} /></div>)}</>;
}
