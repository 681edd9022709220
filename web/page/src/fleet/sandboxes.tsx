import { Link, useSearch } from "@tanstack/react-router";
import { useRef, type ReactNode } from "react";

import type { Sandbox } from "../lib/api";
import { duration, grouped, usd } from "../lib/format";
import { exactly } from "../lib/links";
import { sandboxWord } from "../lib/status";
import { Clock, Text } from "../lib/text";
import { Ago, Answer, Mark, Panel, Table, TaskLink } from "./parts";
import { useCapacity, useReadiness, useSandboxes } from "./queries";
import { shows } from "./search";

/** The sandboxes: those whose deletion is not verified, if there are any, else the running ones. */
export function Sandboxes(): ReactNode {
  const { show: chosen } = useSearch({ from: "/fleet" });
  const counts = useCapacity().data?.sandboxes, first = useRef<"running" | "unverified">(undefined), alert = useReadiness().data?.dependencies.find((d) => d.name === "sandboxes" && d.state === "down");
  if (counts !== undefined) {
    first.current ??= counts.unverified === 0 ? "running" : "unverified"; // counts change, and the list that a reader reads stays
  }
  const show = chosen ?? first.current ?? "running";
  const count = { unverified: counts?.unverified, lost: counts?.lost, running: undefined, all: undefined };
  return (
    <>
      {alert !== undefined && <p className="notice bad" role="alert"><Text of={alert.detail ?? ""} />{alert.next !== undefined && <> Next: <code className="span"><Text of={alert.next} /></code></>}</p>}
      <nav className="chips" aria-label="Part of the list">
        {shows.map((s) => (
          <Link key={s.id} className="chip" to="/fleet" search={{ tab: "sandboxes", show: s.id }} aria-current={show === s.id ? "true" : undefined} activeOptions={exactly}>
            {s.word}{count[s.id] !== undefined && <span className="count">{grouped(count[s.id]!)}</span>}
          </Link>
        ))}
      </nav>
      <Panel title="Sandboxes">
        <Answer of={useSandboxes(show)}>{(items) => (
          <Table label="Sandboxes" items={items} id={(s) => s.id} empty={none[show]} columns={[
            { head: "Sandbox", cell: (s) => <Link to="/sandbox/$id" params={{ id: s.id }} title={s.id}><code className="one-line">…{s.id.slice(-6)}</code></Link> },
            { head: "State", cell: (s) => <State of={s} /> },
            { head: "Deletion", cell: (s) => <Deletion of={s} /> },
            { head: "Task", cell: (s) => (s.task_id === "" ? <span className="muted">unmanaged</span> : <TaskLink id={s.task_key} attempt={s.attempt}>{s.task_key}, attempt {s.attempt}</TaskLink>) },
            { head: "Provider", cell: (s) => <><span className="one-line">{s.provider}</span>{s.host_id !== "" && <span className="muted small"> on <Text of={s.host_id} /></span>}</> },
            { head: "Created", cell: (s) => <Ago at={s.created_at} /> },
            { head: "Lifetime", cell: (s) => duration(s.seconds_alive * 1000), right: true },
            { head: "Cost", cell: (s) => <>{usd(s.cost_usd, s.cost_unknown)}{s.cost != null && <div className="small muted">sandbox {s.cost.amount.toFixed(4)} <Text of={s.cost.currency} /></div>}</>, right: true },
          ]} />
        )}</Answer>
      </Panel>
    </>
  );
}

const none = { unverified: "Every deletion is verified.", running: "No sandbox has a running attempt.", lost: "No sandbox is lost.", all: "No sandbox was requested yet." };

const tones: Record<string, string> = { running: "run", intended: "wait", creating: "run", deleting: "wait", gone: "wait", lost: "fail" };

function State({ of }: { of: Sandbox }): ReactNode {
  return <Mark tone={tones[of.state] ?? "unknown"} word={sandboxWord(of.state)} />;
}

/** How far the deletion is, by the steps that the server recorded. */
function Deletion({ of }: { of: Sandbox }): ReactNode {
  if (of.verified_at !== null) {
    return <span className="small">verified <Clock at={of.verified_at} /></span>;
  }
  if (of.ended_at === null || of.state === "lost" || of.provider === "external" || of.provider === "bare") {
    return <span className="small muted">–</span>; // nothing to verify: it runs, cannot be reached, or was not created by omoi
  }
  const step = of.gone_at !== null ? <>absent <Clock at={of.gone_at} />, second check is due</> : of.deleted_at !== null ? <>requested <Clock at={of.deleted_at} />, not absent yet</> : <>not requested yet</>;
  return <span className="small"><Mark tone="needs" word="not verified" /><div className="muted">{step}; attempt ended <Ago at={of.ended_at} /></div></span>;
}
