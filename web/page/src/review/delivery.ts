import type { Task } from "../lib/api";

/** What the server does with comments on a task as it is now. */
export function deliveryTo(task: Task): string {
  const last = task.attempts.at(-1);
  if (task.status === "completed") {
    return "The task is completed: a new task continues its branch with the comments.";
  }
  if (task.completed_at !== null) {
    return "The next attempt starts with the comments.";
  }
  if (last?.ended_at === null && last.kind !== "validation") {
    return `The agent ${task.group === "needs_you" ? "waits, and" : "runs, and"} gets all comments now, as one message. The attempt continues.`;
  }
  return "If the work waits for a review, the next attempt starts with the comments. If not, the server refuses them, and they stay here.";
}
