import "../review/review.css";
import { useMemo, type ReactNode } from "react";

import { said, type Task } from "../lib/api";
import { Text } from "../lib/text";
import { useDiff } from "../review/api";
import { hasCRLF, linesOf } from "../review/diff";
import { UnifiedRow } from "../review/line";
import { rowsOf } from "../review/rows";
import { notesOf } from "../review/words";

/** The diff of one file between two points of a task, to be read. */
export function FileDiff({ task, path, from, to }: { task: Task; path: string; from: string; to: string }): ReactNode {
  const diff = useDiff(task, { path, from, to, context: 3, whitespace: "show" }), pages = diff.data?.pages;
  const lines = useMemo(() => linesOf((pages ?? []).flatMap((p) => p.hunks)), [pages]), rows = useMemo(() => rowsOf(lines, false), [lines]);
  const look = useMemo(() => ({ highlighter: undefined, crlf: hasCRLF(lines), comment: undefined }), [lines]);
  if (pages === undefined) {
    return diff.error === null ? <p className="muted small">Loading…</p> : <p className="bad small" role="alert"><Text of={said(diff.error)} /></p>;
  }
  return (
    <div className="file-diff" tabIndex={0} role="region" aria-label={`Diff of ${path}`} data-lines={lines.length}>
      {pages[0] !== undefined && notesOf(pages[0].file).map((note) => <p key={note} className="muted small">{note}</p>)}
      {rows.map((row, n) => (row.left?.line.kind === "@" ? <div key={n} className="hunk"><code className="muted"><Text of={row.left.line.text} /></code></div> : <UnifiedRow key={n} row={row} look={look} />))}
      {diff.hasNextPage && <button onClick={() => void diff.fetchNextPage()} disabled={diff.isFetchingNextPage}>Show more lines</button>}
    </div>
  );
}
