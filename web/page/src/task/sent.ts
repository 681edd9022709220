import { useQueries } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";

import { api, getMessage, unwrap, type Message, type Task } from "../lib/api";
import { now } from "../lib/clock";
import { keep, recallList } from "../lib/kept";
import { everyOf } from "./every";

/** A message that this browser sent. */
interface Sent { id: string; kind: string; text: string; at: number }

const readers = new Set<() => void>();
const cache = new Map<string, Sent[]>();

function sentTo(task: string): Sent[] {
  if (!cache.has(task)) {
    cache.set(task, recallList("sessionStorage", `omoi.sent.${task}`));
  }
  return cache.get(task)!;
}

/** Sends a message to the agent of a task. The same key sends the same message once. */
export async function post(task: Task, content: string, kind: "user_message" | "interrupt", key: string): Promise<void> {
  const queued = await unwrap(api.POST("/api/v1/sandboxes/{sandbox_id}/messages", {
    params: { path: { sandbox_id: task.sandbox_id! }, header: { "Idempotency-Key": `${key}-${kind}` } }, body: { content, message_type: kind },
  }));
  remember(task.id, { id: queued.message_id, kind, text: content, at: now() });
}

/** Remembers a message until the tab is closed. */
export function remember(task: string, sent: Sent): void {
  const all = [...sentTo(task).filter((s) => s.id !== sent.id), sent].slice(-50);
  cache.set(task, all);
  keep("sessionStorage", `omoi.sent.${task}`, JSON.stringify(all));
  readers.forEach((reader) => reader());
}

/** The messages that this browser sent to a task, with what the server says of each. */
export function useSent(task: string) {
  const sent = useSyncExternalStore((changed) => {
    readers.add(changed);
    return () => readers.delete(changed);
  }, () => sentTo(task));
  const states = useQueries({
    queries: sent.map((s) => ({
      queryKey: ["message", s.id], queryFn: () => getMessage(s.id, "0s"),
      refetchInterval: (q: { state: { data?: Message } }) => everyOf(q.state.data),
    })),
  });
  return sent.map((s, n) => ({ ...s, message: states[n]?.data }));
}
