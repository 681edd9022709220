import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";

import { api, getProjects, said, unwrap, type Project } from "../lib/api";
import { Dialog } from "../lib/dialog";
import { Check } from "../lib/fields";
import { useMay } from "../lib/session";
import { Text } from "../lib/text";
import { ProjectForm } from "./project";
import { Removal } from "./removal";

/** The projects, or the form of one. */
export function Projects(): ReactNode {
  const { project: chosen } = useSearch({ from: "/settings" }), navigate = useNavigate(), may = useMay("write");
  const list = useQuery({ queryKey: ["projects"], queryFn: getProjects });
  if (list.data === undefined) {
    return <p className={list.error === null ? "muted empty" : "notice bad"} role={list.error === null ? undefined : "alert"}>{list.error === null ? "Loading…" : <Text of={said(list.error)} />}</p>;
  }
  const project = list.data.items.find((p) => p.key === chosen), back = (): void => void navigate({ to: "/settings", search: { tab: "projects" } });
  if (may && (project !== undefined || chosen === "new")) {
    return <ProjectForm key={chosen} project={project} back={back} />;
  }
  return (
    <>
      {may && <p><Link className="button primary" to="/settings" search={{ tab: "projects", project: "new" }}>New project</Link></p>}
      {chosen !== undefined && <p className="notice">{may ? <>There is no project <Text of={chosen} />.</> : "Your key reads only."}</p>}
      <section className="panel" aria-label="Projects">
        {list.data.items.length === 0 && <p className="empty muted">No projects yet. The first task of a repository creates its project.</p>}
        {list.data.items.map((p) => <Row key={p.id} project={p} />)}
      </section>
    </>
  );
}

function Row({ project }: { project: Project }): ReactNode {
  const may = useMay("write"), admin = useMay("admin"), [asked, ask] = useState<"pause" | "delete">();
  return (
    <article className="entry" aria-label={project.key}>
      <div className="grow">
        <p className="strong"><span className="muted">{project.key}</span> <Text of={project.name} /> {project.paused && <span className="s-needs">paused</span>}</p>
        <p className="muted small">{project.repo === "" ? "no repository" : <code><Text of={project.repo} /></code>} · at most {project.max_concurrent_tasks} tasks at once</p>
        {project.description !== "" && <p className="small"><Text of={project.description} /></p>}
      </div>
      {may && (
        <div className="spread">
          <Link className="button" to="/tasks/new" search={{ project: project.key }}>New task</Link>
          <Link className="button" to="/settings" search={{ tab: "projects", project: project.key }}>Edit</Link>
          <button onClick={() => ask("pause")}>{project.paused ? "Resume…" : "Pause…"}</button>
          {admin && <button className="danger" onClick={() => ask("delete")}>Delete…</button>}
        </div>
      )}
      {asked === "pause" && <Pause project={project} close={() => ask(undefined)} />}
      {asked === "delete" && <Removal project={project} close={() => ask(undefined)} />}
    </article>
  );
}

/** Pauses a project, or resumes it. */
function Pause({ project, close }: { project: Project; close: () => void }): ReactNode {
  const client = useQueryClient(), [now, setNow] = useState(false), params = { path: { id: project.id } };
  const send = useMutation({
    mutationFn: () => unwrap(project.paused ? api.POST("/api/v1/projects/{id}/resume", { params, body: {} }) : api.POST("/api/v1/projects/{id}/pause", { params, body: { now } })),
    onSuccess: close, onSettled: () => client.invalidateQueries(),
  });
  const name = project.name;
  return (
    <Dialog key={send.failureCount} title={project.paused ? `Resume ${name}?` : `Pause ${name}?`} yes={project.paused ? "Resume the project" : "Pause the project"} danger={!project.paused} submit={() => send.mutate()} close={close}>
      {project.paused
        ? <ul><li>The project starts tasks again.</li><li>Tasks that the pause suspended resume.</li></ul>
        : <><ul><li>The project starts no task until it is resumed.</li><li>Running tasks continue, unless you suspend them too.</li></ul><Check label="Suspend running tasks too; their work is saved" checked={now} change={setNow} /></>}
      {send.error !== null && <p className="bad" role="alert"><Text of={said(send.error)} /></p>}
    </Dialog>
  );
}
