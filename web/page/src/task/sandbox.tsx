import { useQuery } from "@tanstack/react-query";
import { Navigate, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { api, unwrap } from "../lib/api";
import { many } from "../lib/format";
import { Missing } from "./missing";

/** The page of a sandbox is that of its task, at its attempt. */
export function SandboxPage(): ReactNode {
  const { id } = useParams({ from: "/sandbox/$id" });
  const sandbox = useQuery({
    queryKey: ["sandbox", id],
    queryFn: () => unwrap(api.GET("/api/v1/sandboxes/{sandbox_id}", { params: { path: { sandbox_id: id } } })),
  });
  if (sandbox.error !== null) {
    return <Missing what="sandbox" id={id} error={sandbox.error} />;
  }
  if (sandbox.data === undefined) {
    return <p className="muted empty">Loading…</p>;
  }
  return sandbox.data.task_id !== ""
    ? <Navigate to="/tasks/$id" params={{ id: sandbox.data.task_key }} search={{ attempt: sandbox.data.attempt || undefined }} replace />
    : <div className="empty"><h1>Sandbox {id}</h1><p>Unmanaged sandbox with {many(sandbox.data.events, "event")}. Next: <code>omoi sandbox events {id}</code></p></div>;
}
