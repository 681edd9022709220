import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { getSavedWork, said, type Task } from "../lib/api";
import { Copy } from "../lib/copy";
import { bytes, many } from "../lib/format";
import { Clock, Text } from "../lib/text";

const kinds: Record<string, string> = {
  branch: "commits, on the branch", rescue: "uncommitted work, saved as a Git ref", patch: "saved as a patch", bundle: "saved as a bundle",
  lost: "lost", saving: "being saved", none: "no work to save",
};

/** Where the work of each attempt is, and how to get it. */
export function Work({ task }: { task: Task }): ReactNode {
  const query = useQuery({ queryKey: ["work", task.id], queryFn: () => getSavedWork(task.id), refetchInterval: (q) => (q.state.data?.items.some((w) => w.kind === "saving") ? 3000 : false) });
  const items = query.data?.items;
  return (
    <section className="panel" aria-label="Work">
      <h2>Where the work is</h2>
      {query.error !== null && items === undefined && <p className="message bad"><Text of={said(query.error)} /></p>}
      {items?.length === 0 && <p className="message muted">No attempt has left work yet.</p>}
      {items?.map((w) => (
        <div key={`${w.attempt} ${w.kind} ${w.ref ?? ""}`} className="message" data-work={w.kind}>
          <div className="spread">
            <span className="muted">Attempt {w.attempt}</span>
            <b className={w.kind === "lost" ? "bad" : undefined}>{kinds[w.kind] ?? w.kind}</b>
            {w.ref !== undefined && <code><Text of={w.ref} /></code>}
            {w.head !== undefined && <code title={w.head}>{w.head.slice(0, 10)}</code>}
            {w.files !== undefined && w.files > 0 && <span className="muted">{many(w.files, "file")}{w.bytes !== undefined && `, ${bytes(w.bytes)}`}</span>}
            {w.lost_since !== undefined && <span className="bad">since <Clock at={w.lost_since} /></span>}
            {w.removed_at !== undefined && <span className="muted">removed by retention <Clock at={w.removed_at} /></span>}
          </div>
          {w.next !== undefined && <div className="spread"><code className="copy grow"><Text of={w.next} /></code><Copy of={w.next} /></div>}
          {w.notes?.map((n) => <div key={n} className="muted small"><Text of={n} /></div>)}
        </div>
      ))}
    </section>
  );
}
