import type { ReactNode } from "react";

import type { Task } from "./api";

interface Look { word: string; tone: string; sign: ReactNode }

const ring = <circle cx="8" cy="8" r="5.5" fill="none" stroke="currentColor" strokeWidth="2" />;
const signs = {
  ring,
  clock: <>{ring}<path d="M8 5v3.4l2 1.2" fill="none" stroke="currentColor" strokeWidth="1.6" /></>,
  half: <>{ring}<path d="M8 4.5a3.5 3.5 0 0 1 0 7z" fill="currentColor" /></>,
  dot: <circle cx="8" cy="8" r="5.5" fill="currentColor" className="pulse" />,
  needs: <><rect x="2" y="2" width="12" height="12" rx="2" fill="none" stroke="currentColor" strokeWidth="2" /><path d="M8 4.6v4.2M8 10.4v1.6" stroke="currentColor" strokeWidth="2" /></>,
  double: <>{ring}<circle cx="8" cy="8" r="2.2" fill="currentColor" /></>,
  arrow: <path d="M3.5 8a4.5 4.5 0 1 0 1.6-3.4M3.2 2.6v3h3" fill="none" stroke="currentColor" strokeWidth="2" />,
  tick: <path d="M3 8.5l3.4 3.4L13 4.6" fill="none" stroke="currentColor" strokeWidth="2.2" />,
  cross: <path d="M3.8 3.8l8.4 8.4M12.2 3.8l-8.4 8.4" fill="none" stroke="currentColor" strokeWidth="2.2" />,
  bar: <path d="M3 8h10" stroke="currentColor" strokeWidth="2.4" />,
  question: <path d="M5.4 6a2.6 2.6 0 1 1 3.6 2.4c-.8.4-1 .8-1 1.6M8 12v1.6" fill="none" stroke="currentColor" strokeWidth="1.8" />,
};

const looks: Record<string, Look> = {
  pending: { word: "Waiting", tone: "wait", sign: signs.ring },
  assigned: { word: "Starting", tone: "run", sign: signs.half },
  running: { word: "Running", tone: "run", sign: signs.dot },
  pending_validation: { word: "Checking", tone: "check", sign: signs.double },
  validating: { word: "Checking", tone: "check", sign: signs.double },
  needs_revision: { word: "Revision", tone: "check", sign: signs.arrow },
  completed: { word: "Done", tone: "done", sign: signs.tick },
  failed: { word: "Failed", tone: "fail", sign: signs.cross },
  cancelled: { word: "Cancelled", tone: "cancel", sign: signs.bar },
  // States of an explanation, which know more than the status.
  waiting: { word: "Needs you", tone: "needs", sign: signs.needs },
  suspended: { word: "Suspended", tone: "needs", sign: signs.clock },
  blocked: { word: "Blocked", tone: "wait", sign: signs.clock },
  stuck: { word: "Stuck", tone: "needs", sign: signs.needs },
  unknown: { word: "Unknown", tone: "unknown", sign: signs.question },
};

/** The look of a word of the server. A word that the page does not know is shown as it is. */
export function lookOf(word: string): Look {
  return looks[word] ?? { word: word.replaceAll("_", " "), tone: "unknown", sign: signs.question };
}

/** What the server says of a task in one word: that a user must act, else its status, and what holds it back. */
export function wordOf(task: Pick<Task, "group" | "status" | "blocked_reason">): string {
  if (task.group === "needs_you") {
    return "waiting";
  }
  if (task.status !== "pending" || task.blocked_reason === "") {
    return task.status;
  }
  return task.blocked_reason.startsWith("dependency") ? "blocked" : "suspended";
}

const ofSandboxes: Record<string, string> = { intended: "requested", gone: "deleted" };

/** The state of a sandbox in a word. A state that the page does not know is shown as it is. */
export const sandboxWord = (state: string): string => ofSandboxes[state] ?? state;

export function Status({ word, detail }: { word: string; detail?: string }): ReactNode {
  const look = lookOf(word);
  return (
    <span className={`status s-${look.tone}`}>
      <svg viewBox="0 0 16 16" aria-hidden="true">{look.sign}</svg>{look.word}{detail}
    </span>
  );
}
