import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { codeOf, said } from "../lib/api";
import { Text } from "../lib/text";

/** Says why a task or a sandbox cannot be shown. */
export function Missing({ what = "task", id, error }: { what?: "task" | "sandbox"; id: string; error: unknown }): ReactNode {
  return (
    <div className="empty" role="alert">
      <h1>{codeOf(error) === "not_found" ? `There is no ${what} ${id}` : `The ${what} cannot be shown`}</h1>
      <p className="muted"><Text of={said(error)} /></p><p><Link to="/tasks">All tasks</Link></p>
    </div>
  );
}
