import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "@omoi/client";
import { useState, type ReactNode } from "react";

import { api, said, unwrap } from "../lib/api";
import { many } from "../lib/format";
import { Clock, Text } from "../lib/text";
import { wordOfEvent } from "./notices";

/** The newest notices of a rule, read while the reader has them open. */
export function Deliveries({ rule }: { rule: string }): ReactNode {
  const [open, setOpen] = useState(false);
  return (
    <details className="small" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>Newest notices</summary>
      {open && <List rule={rule} />}
    </details>
  );
}

function List({ rule }: { rule: string }): ReactNode {
  const list = useQuery({ queryKey: ["notices", rule], queryFn: () => unwrap(api.GET("/api/v1/notices", { params: { query: { rule_id: [rule], limit: 10 } } })), refetchInterval: 5000 });
  if (list.data === undefined) {
    return list.error === null ? <p className="muted">Loading…</p> : <p className="bad" role="alert"><Text of={said(list.error)} /></p>;
  }
  return list.data.items.length === 0 ? <p className="muted">No notices yet.</p> : <ul>{list.data.items.map((n) => <li key={n.delivery.id}><Delivered of={n} /></li>)}</ul>;
}

function Delivered({ of: { task_key, event, created_at, delivery } }: { of: Schemas["Notice"] }): ReactNode {
  const tone = { delivered: "s-done", failed: "bad" }[delivery.state as string];
  return (
    <>
      {task_key !== "" && <><Link to="/tasks/$id" params={{ id: task_key }}>{task_key}</Link> </>}{wordOfEvent(event)} <span className="muted"><Clock at={created_at} /></span> <b className={tone}>{delivery.state}</b>
      {delivery.attempts > 1 && `, ${many(delivery.attempts, "request")}`}{delivery.error !== "" && <>: <Text of={delivery.error} /></>}
    </>
  );
}
