import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { Schemas } from "@omoi/client";
import { useState, type ReactNode } from "react";

import { api, getProjects, said, unwrap } from "../lib/api";
import { Dialog } from "../lib/dialog";
import { many } from "../lib/format";
import { useMay } from "../lib/session";
import { Clock, Text } from "../lib/text";
import { CreateRule } from "./create-rule";
import { Deliveries } from "./deliveries";

type Rule = Schemas["Rule"];

export const channels: Record<string, string> = { webhook: "Webhook", slack: "Slack", ntfy: "ntfy", email: "E-mail" };
export const wordOfEvent = (event: string): string => event.replaceAll("_", " ");

const of = (rule: Rule) => ({ params: { path: { id: rule.id } } });
const useAll = () => useQuery({ queryKey: ["notice-rules"], queryFn: () => unwrap(api.GET("/api/v1/notice-rules", { params: { query: { limit: 500 } } })), refetchInterval: 10_000 });
const useNames = () => new Map(useQuery({ queryKey: ["projects"], queryFn: getProjects, staleTime: 30_000 }).data?.items.map((p) => [p.id, p.key]));

/** Rules by which receivers outside omoi are notified of tasks. No answer contains the secret parts of an address. */
export function Notices(): ReactNode {
  const all = useAll(), may = useMay("write");
  return (
    <>
      <p className="muted">A rule notifies a receiver outside omoi of your tasks. The server never shows the path of an address, or a secret, again.</p>
      {all.error !== null && <p className="notice bad" role="alert"><Text of={said(all.error)} /></p>}
      <section className="panel" aria-label="Notice rules">
        {all.data === undefined ? <p className="muted empty">{all.error === null && "Loading…"}</p> : all.data.items.length === 0 && <p className="muted empty">No notice rules yet.</p>}
        {all.data?.items.map((r) => <Row key={r.id} of={r} />)}
      </section>
      {may && <CreateRule />}
    </>
  );
}

function Row({ of: rule }: { of: Rule }): ReactNode {
  const names = useNames(), organization = rule.scope === "organization", admin = useMay("admin"), may = useMay("write") && (!organization || admin);
  return (
    <article className="entry" aria-label={`${channels[rule.channel] ?? rule.channel} ${rule.receiver}`}>
      <div className="grow">
        <p><span className="strong"><Text of={channels[rule.channel] ?? rule.channel} /></span> <code><Text of={rule.receiver} /></code>{!rule.enabled && <span className="s-needs"> disabled</span>}</p>
        <p className="muted small">
          {rule.events.map(wordOfEvent).join(", ")} · {organization ? "tasks of all users" : "your tasks"}{rule.project_id !== "" && <> of <Text of={names.get(rule.project_id) ?? rule.project_id} /></>} · created <Clock at={rule.created_at} whole />
        </p>
        <Health of={rule} />
        <Deliveries rule={rule.id} />
      </div>
      {may && <Verbs of={rule} />}
    </article>
  );
}

/** Whether the receiver takes notices. */
function Health({ of: rule }: { of: Rule }): ReactNode {
  const pending = rule.pending > 0 && `${many(rule.pending, "pending notice")}`;
  if (rule.failures === 0) {
    return pending && <p className="muted small">{pending}</p>;
  }
  return (
    <p className="bad small" data-failures={rule.failures}>
      {many(rule.failures, "failure")} in a row: <Text of={rule.error} />{rule.retry_at !== null && <>, tried again <Clock at={rule.retry_at} /></>}{pending && `, ${pending}`}
    </p>
  );
}

/** What can be done with a rule, and what the server says of it. */
function Verbs({ of: rule }: { of: Rule }): ReactNode {
  const client = useQueryClient(), [asked, ask] = useState(false), onSettled = () => client.invalidateQueries({ queryKey: ["notice-rules"] });
  const test = useMutation({ mutationFn: () => unwrap(api.POST("/api/v1/notice-rules/{id}/test", of(rule))), onSettled });
  const change = useMutation({ mutationFn: () => unwrap(api.PATCH("/api/v1/notice-rules/{id}", { ...of(rule), body: { enabled: !rule.enabled } })), onSettled });
  const error = test.error ?? change.error;
  return (
    <>
      <div className="spread">
        <button disabled={test.isPending} title="Sends a test notice" onClick={() => test.mutate()}>{test.isPending ? "Testing…" : "Test"}</button>
        <button disabled={change.isPending} onClick={() => change.mutate()}>{rule.enabled ? "Disable" : "Enable"}</button>
        <button className="danger" onClick={() => ask(true)}>Delete…</button>
      </div>
      <p role="status" className="small whole-line">
        {test.data !== undefined && <><b className={test.data.state === "delivered" ? "s-done" : "bad"}>{test.data.state}</b>{test.data.error !== "" && <>: <Text of={test.data.error} /></>}</>}
        {error !== null && <span className="bad"><Text of={said(error)} /></span>}
      </p>
      {asked && <Delete of={rule} close={() => ask(false)} />}
    </>
  );
}

function Delete({ of: rule, close }: { of: Rule; close: () => void }): ReactNode {
  const client = useQueryClient();
  const send = useMutation({ mutationFn: () => unwrap(api.DELETE("/api/v1/notice-rules/{id}", of(rule))), onSuccess: close, onSettled: () => client.invalidateQueries({ queryKey: ["notice-rules"] }) });
  return (
    <Dialog key={send.failureCount} title="Delete the notice rule?" yes="Delete the rule" danger submit={() => send.mutate()} close={close}>
      <ul><li><Text of={rule.receiver} /> is not notified any more.</li><li>The notices of the rule are deleted, also those that are pending{rule.pending > 0 && `: ${many(rule.pending, "notice")}`}.</li></ul>
      {send.error !== null && <p className="bad" role="alert"><Text of={said(send.error)} /></p>}
    </Dialog>
  );
}
