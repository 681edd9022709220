import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import { api, unwrap, type Task } from "../lib/api";
import { now } from "../lib/clock";
import { Dialog } from "../lib/dialog";
import { many } from "../lib/format";
import { newKey } from "../lib/key";
import { Pull } from "../lib/pull";
import { useMay } from "../lib/session";
import { Text } from "../lib/text";
import { failure, type Asked, type ReceiptList } from "../task/receipts";
import { dropDrafts, isWritten, placeOf, useDrafts } from "./drafts";

type Verb = "approve" | "changes" | "pull";

interface Action { word: string; title: (task: Task) => string; yes: string; effects: string[] }

const actions: Record<Verb, Action> = {
  approve: {
    word: "Approve…", title: (t) => `Approve the work of ${t.key}?`, yes: "Approve the work",
    effects: ["The work that is on the branch is published as it is: with a pull request, if the repository is on a Git host.", "A running attempt ends, and the task completes.", "No validator reviews the work after you."],
  },
  changes: {
    word: "Request changes…", title: (t) => `Request changes to ${t.key}?`, yes: "Request changes",
    effects: ["A running attempt ends. Its uncommitted work is saved, and its commits stay on the branch.", "The next attempt works on what you write here, and on your comments.", "If the task has used all its validation rounds, it fails instead. The branch stays."],
  },
  pull: {
    word: "Open pull request…", title: (t) => `Open a pull request for ${t.key}?`, yes: "Open the pull request",
    effects: ["The pull request of the branch is found at GitHub, or opened.", "The task itself stays as it is."],
  },
};

/** A name of a repository at GitHub. */
const hosted = /^([^/\s]+)\/([^/\s]+)$/;

/** The verdict of a user, and the pull request. The server decides what is legal, and its answer is shown. */
export function Verdict({ task, receipts }: { task: Task; receipts: ReceiptList }): ReactNode {
  const [verb, setVerb] = useState<Verb>(), may = useMay("write");
  const pull = task.pull_request_url === null && task.branch_name !== null && hosted.test(task.repo);
  const writes = useDrafts(task.id).some(isWritten);
  const shown: Verb[] = [...(pull ? ["pull" as const] : []), ...(task.completed_at === null ? ["changes" as const, "approve" as const] : [])];
  return (
    <span className="spread" data-actions>
      <Pull task={task} />
      {may && shown.map((v) => <button key={v} className={v === "approve" && task.status !== "running" && !writes ? "primary" : undefined} onClick={() => setVerb(v)}>{actions[v].word}</button>)}
      {verb !== undefined && <Confirm key={verb} verb={verb} task={task} receipts={receipts} close={() => setVerb(undefined)} />}
    </span>
  );
}

function Confirm({ verb, task, receipts, close }: { verb: Verb; task: Task; receipts: ReceiptList; close: () => void }): ReactNode {
  const action = actions[verb], client = useQueryClient(), [text, setText] = useState("");
  const drafts = useDrafts(task.id).filter(isWritten);
  const send = useMutation({
    mutationFn: async (asked: Asked) => {
      const comments = drafts.map((d) => `${placeOf(d)}: ${d.text.trim()}`);
      receipts.set(asked.key, verb === "pull" ? await pull(task) : await judge(task, verb === "approve", text.trim() || "See the comments on lines.", comments));
      if (verb === "changes") {
        dropDrafts(task.id, drafts.map((d) => d.id));
      }
    },
    onError: (error, asked) => receipts.set(asked.key, failure(error)),
    onSettled: () => void client.invalidateQueries(),
  });
  const submit = (): void => {
    const asked: Asked = { key: newKey(), word: action.word.replace("…", ""), at: now() };
    receipts.add(asked);
    send.mutate(asked);
    close();
  };
  return (
    <Dialog title={action.title(task)} yes={action.yes} ready={verb !== "changes" || text.trim() !== "" || drafts.length > 0} submit={submit} close={close}>
      <ul>{action.effects.map((e) => <li key={e}>{e}</li>)}</ul>
      {verb === "pull" && <p className="muted small">Branch <code><Text of={task.branch_name ?? ""} /></code> of <Text of={task.repo} /></p>}
      {verb === "changes" && <label>What is missing or wrong<textarea rows={3} value={text} maxLength={20_000} onChange={(e) => setText(e.target.value)} /></label>}
      {verb === "changes" && drafts.length > 0 && <p className="muted small">With {drafts.length === 1 ? "your comment" : `your ${drafts.length} comments`} on lines.{task.status === "running" && <> To keep the attempt running, go back and choose <b>Send {many(drafts.length, "comment")} to the agent</b>.</>}</p>}
      {verb === "approve" && drafts.length > 0 && <p className="bad small">Your comments are not sent with an approval. They stay here.</p>}
    </Dialog>
  );
}

async function judge(task: Task, passed: boolean, feedback: string, recommendations: string[]): Promise<Partial<Asked>> {
  const body = { passed, ...(!passed && { feedback, recommendations }) };
  const { command } = await unwrap(api.POST("/api/v1/tasks/{id}/verdict", { params: { path: { id: task.id } }, body }));
  return { id: command.id, command };
}

async function pull(task: Task): Promise<Partial<Asked>> {
  const [, owner, name] = hosted.exec(task.repo)!;
  const made = await unwrap(api.POST("/api/v1/branch-workflow/finish", {
    body: { branch_name: task.branch_name!, repo_owner: owner!, repo_name: name!, ticket_id: task.ticket_id ?? task.key, ticket_title: task.title },
  }));
  return made.success ? { done: `pull request #${made.pr_number}` } : { refused: made.error ?? "The pull request was not opened." };
}
