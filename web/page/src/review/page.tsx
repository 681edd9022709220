import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useEffect, type ReactNode } from "react";

import { getTask, type Task } from "../lib/api";
import { exactly } from "../lib/links";
import { lookOf, Status, wordOf } from "../lib/status";
import { Text } from "../lib/text";
import { Steps } from "../task/messages";
import { Missing } from "../task/missing";
import { newest, Receipts, useReceipts, type ReceiptList } from "../task/receipts";
import { useSent } from "../task/sent";
import type { Draft } from "./drafts";
import { fromServer } from "./search";
import { Send } from "./send";
import { Tests, useTests } from "./tests";
import { Verdict } from "./verdict";
import { FileView, useShown } from "./view";
import { counts } from "./words";
import "./review.css";

/** The review of a task: its changed files, comments, tests, verdict. */
export function ChangesPage(): ReactNode {
  const { id } = useParams({ from: "/tasks/$id/changes" });
  const task = useQuery({ queryKey: ["task", id], queryFn: () => getTask(id), refetchInterval: (q) => (q.state.data?.completed_at == null ? 3000 : 15_000) });
  if (task.data === undefined && task.error !== null) {
    return <Missing id={id} error={task.error} />;
  }
  return task.data === undefined ? <p className="muted empty">Loading…</p> : <Loaded key={task.data.id} task={task.data} />;
}

function Loaded({ task }: { task: Task }): ReactNode {
  const search = useSearch({ from: "/tasks/$id/changes" }), navigate = useNavigate();
  const receipts = useReceipts(task), { checks } = useTests(task), tests = search.tab === "tests";
  const files = useShown(task, search.from ?? "base", search.to ?? "latest");
  useEffect(() => {
    document.title = `${task.key} changes · ${lookOf(task.status).word}`;
  }, [task]);
  const open = (d: Draft): void => void navigate({ to: ".", search: { ...search, tab: undefined, path: d.path, from: pointWord(d.from, "base"), to: pointWord(d.to, "latest") } });
  return (
    <div className="task review">
      <div className="task-head">
        <div className="task-title">
          <h1><Link className="key" to="/tasks/$id" params={{ id: task.key }}>{task.key}</Link><Text of={task.title} /></h1>
          <Status word={wordOf(task)} />
          <Verdict task={task} receipts={receipts} />
        </div>
        <p className="why-line"><Text of={task.why} />{task.status === "running" && task.group === "needs_you" && <> <Link to="/tasks/$id" params={{ id: task.key }}>Answer</Link></>}</p>
        <Sent task={task} receipts={receipts} />
        <nav className="tabs" aria-label="Views of the review">
          <Link to="." search={{ ...search, tab: undefined }} activeOptions={exactly} aria-current={tests ? undefined : "page"} title="Files that differ between From and To">Files{files.shown !== undefined && ` ${files.shown.total_files}`}{files.shown !== undefined && files.shown.total_files > 0 && ` ${counts(files.shown)}`}</Link>
          <Link to="." search={{ ...search, tab: "tests" }} activeOptions={exactly} aria-current={tests ? "page" : undefined}>Tests{checks.length > 0 && ` ${checks.length}`}</Link>
          <span className="grow" />
          <Link to="/tasks/$id" params={{ id: task.key }} activeOptions={exactly}>Back to the task</Link>
        </nav>
      </div>
      {tests ? <Tests task={task} /> : <FileView task={task} files={files} />}
      <Send task={task} receipts={receipts} open={open} />
    </div>
  );
}

const pointWord = (point: string, usual: string): string | undefined => (point === usual ? undefined : fromServer(point));

/** The delivery status of the comments, and the receipts of the commands, that this browser sent. */
function Sent({ task, receipts }: { task: Task; receipts: ReceiptList }): ReactNode {
  const sent = newest(useSent(task.id).filter((s) => s.kind === "review"));
  return (
    <>
      <Receipts receipts={receipts} task={task} />
      {sent.map(({ id, message }) => message !== undefined && <div key={id} className="spread small" role="status" data-message={message.state}><b>Comments</b><Steps of={message} /></div>)}
    </>
  );
}
