import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { answerQuestion, OmoiError, type Question, type Task } from "../lib/api";
import { now } from "../lib/clock";
import { cutMiddle } from "../lib/format";
import { newKey } from "../lib/key";
import { Prose } from "../lib/prose";
import { useOld } from "../lib/reach";
import { useMay } from "../lib/session";
import { Settled } from "../lib/settled-question";
import { Clock, Text } from "../lib/text";
import { Composer } from "./composer";
import { failure, refresh, type ReceiptList } from "./receipts";

interface Props { of: Question; task: Task; receipts: ReceiptList }

/** The open question of an agent, with its proposals and a box for another answer. */
export function OpenQuestion({ of, task, receipts }: Props): ReactNode {
  const may = useMay("write"), { answer, pending, closed } = useAnswer(of, task, receipts);
  const title = of.kind === "permission" ? "The agent asks for a permission" : "The agent asks";
  return (
    <section className="panel ask" aria-label={title} data-open-question={of.id}>
      <div className="spread"><b className="s-needs">{title}</b><span className="muted small"><Text of={task.agent} />, attempt {of.attempt}, since <Clock at={of.asked_at} /></span></div>
      <div className="prose"><Prose of={of.text.trim()} /></div>
      <p className="muted small"><Wait of={of} task={task} /></p>
      {closed !== undefined ? <p role="status" data-question={closed.state}><Settled of={closed} /></p> : (
        <>
          <Proposals of={of.options} choose={may ? answer : undefined} held={pending} />
          <Composer task={task} question={of.id} reply={answer} held={pending} />
        </>
      )}
    </section>
  );
}

/** Sends an answer, with a receipt. closed: the question as the server returned it, with its first answer. */
function useAnswer(question: Question, task: Task, receipts: ReceiptList) {
  const client = useQueryClient();
  const send = useMutation({
    mutationFn: (text: string) => answerQuestion(question.id, text),
    onSettled: () => refresh(client, task),
  });
  const answer = async (text: string): Promise<boolean> => {
    const key = newKey();
    receipts.add({ key, word: `Answer "${cutMiddle(text.trim(), 80)}"`, at: now() });
    try {
      await send.mutateAsync(text);
      receipts.set(key, { done: "it is the first answer" });
      return true;
    } catch (error) {
      receipts.set(key, failure(error));
      return false;
    }
  };
  return { answer, pending: send.isPending, closed: send.data ?? (send.error instanceof OmoiError ? send.error.problem.question : undefined) };
}

/** How the agent waits, and until when an answer is awaited. */
function Wait({ of, task }: { of: Question; task: Task }): ReactNode {
  const old = useOld(), alive = old === undefined && task.status === "running" && task.sandbox_id === of.sandbox_id;
  return (
    <>
      {of.suspended_at !== null ? <>The task is suspended since <Clock at={of.suspended_at} />, without a sandbox, a slot or cost. </> : alive && "The agent waits in its sandbox. "}
      {of.expires_at === null ? "An answer is awaited without a limit." : <>An answer is awaited until <Clock at={of.expires_at} whole />; then the task fails.</>}
    </>
  );
}

/** The answers that the agent proposes. Without choose they are only shown. */
function Proposals({ of, choose, held }: { of: string[]; choose?: (answer: string) => void; held: boolean }): ReactNode {
  if (of.length === 0) {
    return null;
  }
  return choose === undefined ? <ul className="proposed">{of.map((o, n) => <li key={n}><Text of={o} /></li>)}</ul>
    : <div className="spread proposed" role="group" aria-label="Proposed answers">{of.map((o, n) => <button key={n} disabled={held} onClick={() => choose(o)}><Text of={o} /></button>)}</div>;
}
