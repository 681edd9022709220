import type { ReactNode } from "react";

import type { Task } from "./api";
import { Out } from "./text";

/** The pull request of a task. That of a local repository is a record, which no address shows. */
export function Pull({ task }: { task: Task }): ReactNode {
  const { pull_request_url: url, pull_request_number: number } = task;
  return url !== null && <Out to={url} data-pull-request>pull request #{number}{url.startsWith("file:") && ", recorded in the local repository"}</Out>;
}
