import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { api, said, unwrap, type Project } from "../lib/api";
import { Dialog } from "../lib/dialog";
import { many } from "../lib/format";
import { lookOf } from "../lib/status";
import { Text } from "../lib/text";

/** Deletes a project, after the server has said what that removes, keeps, and what prevents it. */
export function Removal({ project, close }: { project: Project; close: () => void }): ReactNode {
  const client = useQueryClient(), params = { path: { id: project.id } };
  const preview = useQuery({ queryKey: ["project-deletion", project.id], queryFn: () => unwrap(api.GET("/api/v1/projects/{id}/deletion", { params })), staleTime: 0 });
  const send = useMutation({
    mutationFn: () => unwrap(api.DELETE("/api/v1/projects/{id}", { params })), onSuccess: close, onSettled: () => client.invalidateQueries({ queryKey: ["projects"] }),
  });
  const seen = preview.data, error = send.error ?? preview.error;
  return (
    <Dialog key={send.failureCount} title={`Delete ${project.name}?`} yes="Delete the project" danger ready={seen !== undefined && seen.open_tasks.length === 0} submit={() => send.mutate()} close={close}>
      {seen === undefined ? <p className="muted">{preview.error === null && "Loading…"}</p> : (
        <>
          <ul>
            <li>{seen.credentials.length === 0 ? "The project has no credentials of its own." : <>Its own credentials are deleted: <Text of={seen.credentials.join(", ")} />.</>}</li>
            <li>{many(seen.tasks, "task")} and {many(seen.tickets, "ticket")} are kept, with events, receipts and costs.</li>
            <li>Branches and saved work stay. A deleted project accepts no task.</li>
          </ul>
          {seen.open_tasks.length > 0 && (
            <div className="notice bad">
              <p>Open tasks prevent the deletion. Next: cancel them, or wait.</p>
              {seen.open_tasks.map((t) => <p key={t.id}><Link to="/tasks/$id" params={{ id: t.key }}>{t.key} <Text of={t.title} /></Link> <span className="muted">{lookOf(t.status).word}</span></p>)}
            </div>
          )}
        </>
      )}
      {error !== null && <p className="bad" role="alert"><Text of={said(error)} /></p>}
    </Dialog>
  );
}
