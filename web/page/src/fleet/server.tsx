import type { Schemas } from "@omoi/client";
import type { ReactNode } from "react";

import { useInfo } from "../banners";
import { age, bytes, many } from "../lib/format";
import { useMay } from "../lib/session";
import { Clock, Text } from "../lib/text";
import { Answer, Mark, Panel, Table } from "./parts";
import { useReadiness, useStorage } from "./queries";

const states: Record<string, { tone: string; word: string; order: number }> = {
  down: { tone: "fail", word: "down", order: 0 }, ok: { tone: "done", word: "ok", order: 1 }, off: { tone: "wait", word: "off", order: 2 },
};

/** What the server needs and what fails, what it stores and for how long, and what it offers. */
export function Server(): ReactNode {
  const orderOf = (d: Schemas["Dependency"]): number => states[d.state]?.order ?? 0;
  return (
    <>
      <Panel title="Alerts and components">
        <Answer of={useReadiness()}>{(r) => (
          <Table label="Components" items={[...r.dependencies].sort((a, b) => orderOf(a) - orderOf(b))} id={(d) => d.name} empty="" columns={[
            { head: "Component", cell: (d) => <>{d.name}{d.required && <span className="muted small"> required</span>}</> },
            { head: "State", cell: (d) => <Mark tone={states[d.state]?.tone ?? "unknown"} word={d.state} /> },
            { head: "Detail", cell: (d) => <><Text of={d.detail ?? ""} />{d.next !== undefined && <> Next: <code className="span"><Text of={d.next} /></code></>}</> },
          ]} />
        )}</Answer>
      </Panel>
      <StoredData />
      <Offers />
    </>
  );
}

function StoredData(): ReactNode {
  const storage = useStorage(), may = useMay("admin");
  return (
    <Panel title="Stored data and retention" aside={storage.data !== undefined && <span className="small muted">measured <Clock at={storage.data.measured_at} /></span>}>
      {!may ? <p className="muted message">Only an API key with the scope admin shows stored data.</p> : (
        <Answer of={storage}>{(s) => (
          <Table label="Stored data" items={s.kinds} id={(k) => k.kind} empty="" columns={[
            { head: "Kind", cell: (k) => k.kind.replaceAll("_", " ") },
            { head: "Size", cell: (k) => <>{k.bytes === undefined ? "in Git" : bytes(k.bytes)}{k.object_bytes !== undefined && <span className="muted small"> and {bytes(k.object_bytes)} in the object store</span>}</>, right: true },
            { head: "Kept", cell: (k) => (k.keep_seconds === 0 ? "forever" : `${age(k.keep_seconds * 1000)} after the end of the task`) },
            { head: "The next pass removes", cell: (k) => removed(k), right: true },
          ]} />
        )}</Answer>
      )}
    </Panel>
  );
}

const units: Record<string, string> = { branches: "task", refs: "task", bus_rows: "row" };

function removed(k: Schemas["StorageKind"]): string {
  const unit = units[k.kind], of = unit === undefined ? many(k.expired, "sandbox", "sandboxes") : many(k.expired, unit);
  return k.expired === 0 ? "nothing" : `data of ${of}${k.expired_rows === undefined ? "" : `, ${many(k.expired_rows, "event")}`}`;
}

function Offers(): ReactNode {
  const info = useInfo();
  return (
    <Panel title="Offered to new tasks">
      <Answer of={info}>{(i) => (
        <dl className="defs">
          <dt>Version</dt><dd><Text of={i.version} /></dd>
          <dt>Agents</dt><dd>{i.agents.length === 0 ? "none" : <Text of={i.agents.join(", ")} />}</dd>
          <dt>Sandbox providers</dt><dd>{i.sandboxes.length === 0 ? "none" : <Text of={i.sandboxes.join(", ")} />}</dd>
        </dl>
      )}</Answer>
    </Panel>
  );
}
