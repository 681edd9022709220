import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { codeOf, said } from "../lib/api";
import { Text } from "../lib/text";

/** Says why a task cannot be shown. */
export function Missing({ id, error }: { id: string; error: unknown }): ReactNode {
  return (
    <div className="empty" role="alert">
      <h1>{codeOf(error) === "not_found" ? `There is no task ${id}` : "The task cannot be shown"}</h1>
      <p className="muted"><Text of={said(error)} /></p><p><Link to="/tasks">All tasks</Link></p>
    </div>
  );
}
