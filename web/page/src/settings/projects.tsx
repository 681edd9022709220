import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";

import { LastReceipt, WithReceipts } from "../fleet/act";
import { Pause } from "../fleet/pause";
import { getProjects, said, type Project } from "../lib/api";
import { many } from "../lib/format";
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
    <WithReceipts>
      {may && <p><Link className="button primary" to="/settings" search={{ tab: "projects", project: "new" }}>New project</Link></p>}
      {chosen !== undefined && <p className="notice">{may ? <>There is no project <Text of={chosen} />.</> : "Your key reads only."}</p>}
      <LastReceipt />
      <section className="panel" aria-label="Projects">
        {list.data.items.length === 0 && <p className="empty muted">No projects yet. The first task of a repository creates its project.</p>}
        {list.data.items.map((p) => <Row key={p.id} project={p} />)}
      </section>
    </WithReceipts>
  );
}

function Row({ project }: { project: Project }): ReactNode {
  const may = useMay("write"), admin = useMay("admin"), [removing, remove] = useState(false);
  return (
    <article className="entry" aria-label={project.key}>
      <div className="grow">
        <p className="strong"><span className="muted">{project.key}</span> <Text of={project.name} /> {project.paused && <span className="s-needs">paused</span>}</p>
        <p className="muted small">{project.repo === "" ? "no repository" : <code><Text of={project.repo} /></code>} · at most {many(project.max_concurrent_tasks, "task")} at once</p>
        {project.description !== "" && <p className="small"><Text of={project.description} /></p>}
      </div>
      {may && (
        <div className="spread">
          <Link className="button" to="/tasks/new" search={{ project: project.key }}>New task</Link>
          <Link className="button" to="/settings" search={{ tab: "projects", project: project.key }}>Edit</Link>
          <Pause of={project} />
          {admin && <button className="danger" onClick={() => remove(true)}>Delete…</button>}
        </div>
      )}
      {removing && <Removal project={project} close={() => remove(false)} />}
    </article>
  );
}
