import { useQueries } from "@tanstack/react-query";

import { api, getMessage, unwrap, type Message, type Task } from "../lib/api";
import { byTask } from "../lib/by-task";
import { now } from "../lib/clock";
import { keep, recallList } from "../lib/kept";
import { everyOf } from "./every";

/** A message that this browser sent. */
interface Sent { id: string; kind: string; text: string; at: number }

const kept = (task: string): string => `omoi.sent.${task}`;

const store = byTask<Sent[]>(
  (task) => recallList("sessionStorage", kept(task)),
  (task, all) => keep("sessionStorage", kept(task), JSON.stringify(all)),
);

/** Sends a message to the agent of a task. The same key sends the same message once. */
export async function post(task: Task, content: string, kind: "user_message" | "interrupt", key: string): Promise<void> {
  const queued = await unwrap(api.POST("/api/v1/sandboxes/{sandbox_id}/messages", {
    params: { path: { sandbox_id: task.sandbox_id! }, header: { "Idempotency-Key": `${key}-${kind}` } }, body: { content, message_type: kind },
  }));
  remember(task.id, { id: queued.message_id, kind, text: content, at: now() });
}

/** Remembers a message until the tab is closed. */
export const remember = (task: string, sent: Sent): void => store.set(task, [...store.of(task).filter((s) => s.id !== sent.id), sent].slice(-50));

/** The messages that this browser sent to a task, with what the server says of each. */
export function useSent(task: string) {
  const sent = store.use(task);
  const states = useQueries({
    queries: sent.map((s) => ({
      queryKey: ["message", s.id], queryFn: () => getMessage(s.id, "0s"),
      refetchInterval: (q: { state: { data?: Message } }) => everyOf(q.state.data),
    })),
  });
  return sent.map((s, n) => ({ ...s, message: states[n]?.data }));
}
