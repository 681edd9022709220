import type { Schemas } from "@omoi/client";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { api, unwrap } from "../lib/api";
import { grouped, many } from "../lib/format";
import { useMay } from "../lib/session";
import { Text } from "../lib/text";
import { Act } from "./act";
import { Ago, Answer, Mark, Panel, Table } from "./parts";
import { Pause } from "./pause";
import { useCapacity, useHosts } from "./queries";

type Host = Schemas["Host"];

/** Slots by project, and sandboxes by host. */
export function Capacity(): ReactNode {
  const capacity = useCapacity();
  return (
    <>
      <Panel title="Slots by project">
        <Answer of={capacity}>{(c) => (
          <Table label="Slots by project" items={c.projects} id={(p) => p.id} empty="No project yet. The first task of a repository creates its project." columns={[
            { head: "Project", cell: (p) => <><span className="muted">{p.key}</span> <Text of={p.name} /></> },
            { head: "Slots", cell: (p) => <Used n={p.running_tasks} of={p.concurrency_limit} /> },
            { head: "Queue", cell: (p) => grouped(p.queued_tasks), right: true },
            { head: "State", cell: (p) => (p.paused ? <Mark tone="needs" word="paused" /> : <Mark tone="wait" word="admits tasks" />) },
            { head: "Usage", cell: (p) => <Link to="/fleet" search={{ tab: "usage", project: p.id }}>usage<span className="hidden-text"> of {p.key}</span></Link> },
            { head: "Actions", scope: "write", cell: (p) => <span className="spread"><Link className="button" to="/settings" search={{ tab: "projects", project: p.key }}>Edit<span className="hidden-text"> {p.key}</span></Link><Pause of={p} /></span> },
          ]} />
        )}</Answer>
      </Panel>
      <Hosts />
    </>
  );
}

function Used({ n, of }: { n: number; of: number | null }): ReactNode {
  return of === null
    ? <>{grouped(n)}, no limit</>
    : <span className="one-line">{grouped(n)} of {grouped(of)} <meter className="meter" min={0} max={Math.max(of, 1)} value={n} aria-label="Used part" /></span>;
}

function Hosts(): ReactNode {
  const hosts = useHosts(), may = useMay("admin");
  return (
    <Panel title="Hosts">
      {!may ? <p className="muted message">Only an API key with the scope admin shows hosts.</p> : (
        <Answer of={hosts}>{({ items }) => (
          <Table label="Hosts" items={items} id={(h) => h.id} empty="No host yet. Next: omoi worker" columns={[
            { head: "Host", cell: (h) => <><Text of={h.name || h.id} /> <span className="muted small"><Text of={h.providers.join(", ")} /></span></> },
            { head: "State", cell: (h) => <HostState of={h} /> },
            { head: "Sandboxes", cell: (h) => <Used n={h.running_sandboxes} of={h.capacity} /> },
            { head: "Not verified", cell: (h) => grouped(h.unverified_sandboxes), right: true },
            { head: "Lost", cell: (h) => grouped(h.lost_sandboxes), right: true },
            { head: "Heartbeat", cell: (h) => <Ago at={h.seen_at} /> },
            { head: "Version", cell: (h) => <span className="small muted"><Text of={h.version} /></span> },
            { head: "Actions", scope: "admin", cell: (h) => <Lose of={h} /> },
          ]} />
        )}</Answer>
      )}
    </Panel>
  );
}

function HostState({ of }: { of: Host }): ReactNode {
  if (of.lost_at !== null) {
    return <><Mark tone="fail" word="lost" /> <span className="small muted"><Ago at={of.lost_at} /></span></>;
  }
  return of.online ? <Mark tone="run" word="online" /> : <Mark tone="unknown" word="offline" />;
}

function Lose({ of }: { of: Host }): ReactNode {
  return of.online || of.lost_at !== null ? null : (
    <Act word="Mark as lost…" of={of.name || of.id} title="Mark the host as lost?" yes="Mark as lost" danger scope="admin"
      effects={[
        `The sandboxes of ${of.name || of.id} become lost: ${of.running_sandboxes} with a running attempt, ${of.unverified_sandboxes} whose deletion is not verified.`,
        "Work in them that was not saved is lost.", "Their attempts end. Each task starts its next attempt on another host.", "If the host comes back, its worker deletes what is left.",
      ]}
      send={() => unwrap(api.POST("/api/v1/hosts/{id}/mark-lost", { params: { path: { id: of.id } } })).then((h) => `${h.name || h.id} is lost, with ${many(h.lost_sandboxes, "sandbox", "sandboxes")}`)} />
  );
}
