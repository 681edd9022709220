import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useId, useRef, useState, type ReactNode } from "react";

import { PauseDialog } from "../fleet/pause";
import { api, getCheckpoints, getProject, said, unwrap, type Task } from "../lib/api";
import { now } from "../lib/clock";
import { canCopy } from "../lib/copy";
import { bytes, grouped, many, when } from "../lib/format";
import { newKey } from "../lib/key";
import { Prose } from "../lib/prose";
import { Text } from "../lib/text";
import { Dialog } from "../lib/dialog";
import { useMay } from "../lib/session";
import { post } from "./sent";
import { failure, refresh, type Asked, type ReceiptList } from "./receipts";

export type Verb = "interrupt" | "cancel" | "retry" | "suspend" | "fail" | "rewind" | "fork" | "take";

/** An action that a user is asked about. */
export interface Asking { verb: Verb; checkpoint?: string }

interface Action {
  word: string;
  title: (task: Task) => string;
  /** What happens, what is kept, as the API documents it. */
  effects: string[];
  yes: string;
  danger?: boolean;
}

const saved = "Uncommitted work is saved first; Receipts shows where. The branch and its commits stay.";
const suspends = "It suspends the task; the work is saved.";
const unanswered = "The open question is cancelled: nobody can answer it any more.";
const gone = "The sandbox is deleted, and its deletion is verified.";

const actions: Record<Verb, Action> = {
  cancel: { word: "Cancel…", title: (t) => `Cancel ${t.key}?`, yes: "Cancel the task", danger: true, effects: ["The running attempt ends, and the task ends as cancelled.", saved, gone, "A retry can start the next attempt later."] },
  fail: { word: "Mark as failed…", title: (t) => `Mark ${t.key} as failed?`, yes: "Mark as failed", danger: true, effects: ["The running attempt ends, and the task ends as failed.", saved, gone, "A retry can start the next attempt later."] },
  suspend: { word: "Suspend…", title: (t) => `Suspend ${t.key}?`, yes: "Suspend the task", effects: ["The running attempt ends, after a tool call that ends soon.", saved, "The task waits, without a slot, until a retry resumes it."] },
  retry: { word: "Retry…", title: (t) => `Retry ${t.key}?`, yes: "Retry the task", effects: ["The next attempt starts in a new sandbox, when a slot is free.", "It continues on the same branch, with the files and the session of the last checkpoint.", "Its cost counts toward the same budget."] },
  interrupt: { word: "Interrupt…", title: () => "Interrupt the agent?", yes: "Interrupt the agent", effects: ["The agent stops its current turn, and reads this message next.", "The attempt, its sandbox and its files stay."] },
  fork: { word: "Fork…", title: (t) => `Fork ${t.key}?`, yes: "Create the fork", effects: ["A new task starts with the files and the session of the checkpoint, on a branch of its own.", "This task continues.", "The fork has the same settings, and a budget of its own."] },
  take: { word: "Take…", title: (t) => `Take ${t.key} to your machine?`, yes: "Copy the command", effects: ["Run the command in a clone of the repository.", suspends, "The files of the task, its branch and its session come into a new worktree.", "`omoi give` gives the work back to the task."] },
  rewind: { word: "Rewind…", title: (t) => `Rewind ${t.key} to a checkpoint?`, yes: "Rewind the task", danger: true, effects: ["A running attempt ends, and its work is saved.", "The next attempt starts with the files and the session of the checkpoint.", "If the branch has commits that the checkpoint lacks, the task continues on a new branch; the old one stays as it is."] },
};

interface Props { task: Task; receipts: ReceiptList; asking: Asking | undefined; ask: (asking: Asking | undefined) => void }

/** What can be asked of a task. The server decides what is legal, and its answer is shown. */
export function Actions({ task, receipts, asking, ask }: Props): ReactNode {
  const menu = useRef<HTMLDivElement>(null), menuId = useId(), [pausing, setPausing] = useState(false);
  const project = useQuery({ queryKey: ["project", task.project_id], queryFn: () => getProject(task.project_id), staleTime: 10_000, enabled: task.project_id !== "" });
  const final = task.completed_at !== null, suspended = task.status === "pending" && !["", "dependency"].includes(task.blocked_reason), runs = task.status === "running";
  const first: Verb[] = task.status === "completed" ? [] : final ? ["retry"] : suspended ? ["retry", "cancel"] : ["suspend", "cancel"];
  const rest: Verb[] = [...(runs ? ["interrupt" as const] : []), ...(final ? [] : ["suspend" as const, "fail" as const]), "rewind", "fork", ...(task.repo === "" ? [] : ["take" as const])];
  if (!useMay("write")) {
    return null;
  }
  const choose = (verb: Verb): void => {
    menu.current?.hidePopover();
    ask({ verb });
  };
  return (
    <span className="spread" data-actions>
      {first.map((v) => <button key={v} onClick={() => choose(v)} className={actions[v].danger ? "danger" : v === "suspend" ? "less" : undefined}>{actions[v].word}</button>)}
      <button popoverTarget={menuId} aria-label="More actions">More</button>
      <div id={menuId} ref={menu} popover="auto" onToggle={(e) => e.newState === "open" && place(e.currentTarget)}>
        {rest.map((v) => <button key={v} className={first.includes(v) ? "narrow" : undefined} onClick={() => choose(v)}>{actions[v].word}</button>)}
        {project.data !== undefined && <button onClick={() => { menu.current?.hidePopover(); setPausing(true); }}>{project.data.paused ? "Resume" : "Pause"} its project…</button>}
        <Link className="button" to="/tasks/new" search={{ from: task.key }}>New task from this one</Link>
      </div>
      {pausing && project.data !== undefined && <PauseDialog of={project.data} put={receipts.add} close={() => setPausing(false)} />}
      {asking !== undefined && <Confirm key={asking.verb} asking={asking} task={task} receipts={receipts} close={() => ask(undefined)} />}
    </span>
  );
}

/** Puts a menu below its button, inside the window. */
function place(menu: HTMLElement): void {
  const button = document.querySelector(`[popovertarget="${CSS.escape(menu.id)}"]`)!.getBoundingClientRect();
  menu.style.top = `${button.bottom + 4}px`;
  menu.style.left = `${Math.max(8, Math.min(button.left, window.innerWidth - menu.offsetWidth - 16))}px`;
}

/** The effects of an action on a task as it is. */
function effectsOf(verb: Verb, task: Task): string[] {
  const ends = ["cancel", "fail"].includes(verb) || task.blocked_reason === "question" && ["retry", "rewind"].includes(verb);
  return [...actions[verb].effects.filter((e) => e !== suspends || task.completed_at === null), ...(task.question !== null && ends ? [unanswered] : [])];
}

interface ConfirmProps { asking: Asking; task: Task; receipts: ReceiptList; close: () => void }

function Confirm({ asking: { verb, checkpoint: from }, task, receipts, close }: ConfirmProps): ReactNode {
  const action = actions[verb], client = useQueryClient(), id = useId();
  const [reason, setReason] = useState(""), [checkpoint, setCheckpoint] = useState(from ?? "");
  const [text, setText] = useState(verb === "interrupt" ? "Stop, and wait for my next message." : "");
  const send = useMutation({
    mutationFn: (asked: Asked) => ask(verb, task, { key: asked.key, reason, checkpoint, text }).then((result) => receipts.set(asked.key, result)),
    onError: (error, asked) => receipts.set(asked.key, failure(error)),
    onSettled: () => refresh(client, task),
  });
  const command = `omoi take ${task.key}`;
  const submit = (): void => {
    const asked: Asked = { key: newKey(), word: action.word.replace("…", ""), at: now() };
    if (verb === "take") {
      void navigator.clipboard.writeText(command).catch(() => receipts.add({ ...asked, refused: `the browser did not copy the command. Next: ${command}` }));
    } else {
      receipts.add(asked);
      send.mutate(asked);
    }
    close();
  };
  const places = verb === "rewind" || verb === "fork", texts = { interrupt: "Message", fork: "What is different" }[verb as "interrupt"];
  return (
    <Dialog title={action.title(task)} close={close} submit={submit} yes={action.yes} danger={action.danger} ready={(!places || checkpoint !== "") && (verb !== "take" || canCopy()) && (verb !== "interrupt" || text.trim() !== "")}>
      <ul>{effectsOf(verb, task).map((e) => <li key={e}><Prose of={e} /></li>)}</ul>
      {places && <Checkpoints task={task} chosen={checkpoint} choose={setCheckpoint} />}
      {verb === "take" && <code className="copy">{command}</code>}
      {texts !== undefined && <div><label htmlFor={id}>{texts} {verb === "fork" && <span className="muted">(optional, added to the description)</span>}</label><textarea id={id} rows={2} value={text} maxLength={20_000} onChange={(e) => setText(e.target.value)} /></div>}
      {texts === undefined && verb !== "take" && <div><label htmlFor={id}>Reason <span className="muted">(optional, shown with the task)</span></label><input id={id} className="wide-input" value={reason} maxLength={2000} onChange={(e) => setReason(e.target.value)} /></div>}
    </Dialog>
  );
}

function Checkpoints({ task, chosen, choose }: { task: Task; chosen: string; choose: (id: string) => void }): ReactNode {
  const list = useQuery({ queryKey: ["checkpoints", task.id], queryFn: () => getCheckpoints(task.id) });
  if (list.error !== null) {
    return <p className="bad"><Text of={said(list.error)} /></p>;
  }
  const items = [...(list.data?.items ?? [])].sort((a, b) => b.attempt - a.attempt || b.number - a.number);
  return (
    <div>
      <label htmlFor="checkpoint">Checkpoint</label>
      <select id="checkpoint" value={chosen} onChange={(e) => choose(e.target.value)}>
        <option value="">{list.data === undefined ? "Loading…" : items.length === 0 ? "The task has no checkpoint" : "Choose a checkpoint"}</option>
        {items.map((c) => <option key={c.id} value={c.id}>{`${c.id} · ${when(c.taken_at)} · event ${grouped(c.sequence)} · ${many(c.files, "uncommitted file")}, ${bytes(c.bytes)}`}</option>)}
      </select>
    </div>
  );
}

interface With { key: string; reason: string; checkpoint: string; text: string }

/** Sends a command, and returns what its receipt says by now. */
async function ask(verb: Verb, task: Task, { key, reason, checkpoint, text }: With): Promise<Partial<Asked>> {
  const path = { id: task.id }, body = reason.trim() === "" ? {} : { reason: reason.trim() };
  if (verb === "fork") {
    const body = { checkpoint, ...(text.trim() !== "" && { text }) };
    const fork = await unwrap(api.POST("/api/v1/tasks/{id}/fork", { params: { path, header: { "Idempotency-Key": key } }, body }));
    return { done: "created", task: fork.key };
  }
  if (verb === "interrupt") {
    await post(task, text, "interrupt", key);
    return { done: "sent; Messages shows its delivery" };
  }
  const result = verb === "rewind"
    ? await unwrap(api.POST("/api/v1/tasks/{id}/rewind", { params: { path }, body: { ...body, checkpoint, after_attempt: task.attempt_count } }))
    : await unwrap(api.POST(`/api/v1/tasks/{id}/${verb}` as "/api/v1/tasks/{id}/cancel", { params: { path }, body }));
  return { id: result.command.id, command: result.command };
}
