import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { getReceipt, said, type Sandbox, type Task } from "../lib/api";
import { duration, grouped, many, usd } from "../lib/format";
import { inWords } from "../lib/isolation";
import { sandboxWord } from "../lib/status";
import { Clock, Text } from "../lib/text";
import { Receipt, type ReceiptList } from "./receipts";

/** The deletion receipt of each sandbox, and the receipts of commands. */
export function Deletions({ task, receipts }: { task: Task; receipts: ReceiptList }): ReactNode {
  const query = useQuery({ queryKey: ["receipt", task.id], queryFn: () => getReceipt(task.id), refetchInterval: (q) => (q.state.data?.verified ? false : 3000) });
  const r = query.data, active = r?.sandboxes.filter((s) => s.ended_at === null).length ?? 0, ended = (r?.unverified ?? 0) - active;
  return (
    <>
      {query.error !== null && r === undefined && <p className="notice bad"><Text of={said(query.error)} /></p>}
      {r !== undefined && (
        <p className={r.unverified > 0 && task.completed_at !== null ? "notice bad" : "notice"}>
          {r.sandboxes.length === 0 && "No sandbox was requested yet."}
          {r.sandboxes.length > 0 && r.verified && `${r.sandboxes.length === 1 ? "The sandbox is" : `All ${r.sandboxes.length} sandboxes are`} deleted, verified by a second check.`}
          {active > 0 && `Active: ${active} of ${r.sandboxes.length}. `}
          {ended > 0 && `Not verified deleted: ${ended} of ${r.sandboxes.length}.`}
          {r.verification_due_at != null && <> Second check due <Clock at={r.verification_due_at} />.</>}
          {` ${duration(r.seconds_alive * 1000)} of sandbox time; models ${usd(r.cost_usd, r.cost_unknown)}.`}
        </p>
      )}
      {r?.sandboxes.map((s) => <SandboxReceipt key={s.id} of={s} />)}
      {receipts.list.length > 0 && (
        <section className="panel"><h2>Commands that you sent in this browser tab</h2>{receipts.list.map((a) => <p key={a.key} className="message small"><Receipt of={a} /></p>)}</section>
      )}
    </>
  );
}

function SandboxReceipt({ of }: { of: Sandbox }): ReactNode {
  const steps: [string, string | null, string?][] = [
    ["Requested", of.created_at], ["Created", of.provider_created_at], ["Adopted", of.adopted_at, "optional"], ["Agent started", of.started_at],
    ["Attempt ended", of.ended_at], ["Deleted", of.deleted_at], ["First check: absent", of.gone_at], ["Second check: verified", of.verified_at],
  ];
  const salvage = of.salvage;
  return (
    <section className="panel" data-sandbox={of.state} data-verified={of.verified_at !== null}>
      <h2>Attempt {of.attempt} · <code>{of.id}</code> · {sandboxWord(of.state)}</h2>
      <dl className="defs">
        {steps.filter(([, at, optional]) => at !== null || optional === undefined).map(([word, at]) => <Pair key={word} word={word}>{at === null ? <span className="muted">not yet</span> : <Clock at={at} />}</Pair>)}
        <Pair word="Lifetime">{duration(of.seconds_alive * 1000)}</Pair>
        <Pair word="Model cost">{usd(of.cost_usd, of.cost_unknown)}</Pair>
        <Pair word="Provider">{of.provider}{of.isolation.length > 0 && ` · ${inWords(of.isolation)}`}</Pair>
        <Pair word="Events">{grouped(of.events)}{of.events_incomplete && <span className="bad"> the last events are missing</span>}</Pair>
        {salvage != null && (
          <Pair word="Uncommitted work">
            {salvage.kind === "none" ? "none" : <>{salvage.kind}: {salvage.ref !== undefined && <code>{salvage.ref}</code>} {many(salvage.files ?? 0, "file")}{salvage.lost_since !== undefined && <span className="bad"> lost since <Clock at={salvage.lost_since} /></span>}</>}
            {salvage.notes?.map((n) => <div key={n} className="muted small"><Text of={n} /></div>)}
          </Pair>
        )}
      </dl>
    </section>
  );
}

function Pair({ word, children }: { word: string; children: ReactNode }): ReactNode {
  return <><dt>{word}</dt><dd>{children}</dd></>;
}
