import "../review/review.css";
import { useMemo, type ReactNode } from "react";

import { said, type Task } from "../lib/api";
import { marked, Text } from "../lib/text";
import { useDiff } from "../review/api";
import { hasCRLF, linesOf } from "../review/diff";
import { UnifiedRow, type Look } from "../review/line";
import { rowsOf, type Row } from "../review/rows";
import { notesOf } from "../review/words";
import { List } from "../timeline/list";

/** Of a longer diff only the lines in view are mounted. */
const most = 200;
const stay = (): void => undefined;

/** The diff of one file between two points of a task, to be read. */
export function FileDiff({ task, path, from, to }: { task: Task; path: string; from: string; to: string }): ReactNode {
  const diff = useDiff(task, { path, from, to, context: 3, whitespace: "show" }), pages = diff.data?.pages;
  const lines = useMemo(() => linesOf((pages ?? []).flatMap((p) => p.hunks)), [pages]), rows = useMemo(() => rowsOf(lines, false), [lines]);
  const look = useMemo(() => ({ highlighter: undefined, crlf: hasCRLF(lines), comment: undefined }), [lines]);
  if (pages === undefined) {
    return diff.error === null ? <p className="muted small">Loading…</p> : <p className="bad small" role="alert"><Text of={said(diff.error)} /></p>;
  }
  const notes = pages[0] === undefined ? [] : notesOf(pages[0].file).map((note) => <p key={note} className="muted small">{note}</p>);
  const more = diff.hasNextPage && <button onClick={() => void diff.fetchNextPage()} disabled={diff.isFetchingNextPage}>Show more lines</button>;
  const row = (n: number): ReactNode => (n < rows.length ? <DiffRow key={n} row={rows[n]!} look={look} /> : more), label = marked(`Diff of ${path}`);
  return rows.length > most
    ? <div className="file-diff long" data-lines={lines.length}>{notes}<List plain estimate={20} count={rows.length + Number(diff.hasNextPage)} label={label} row={row} follow={false} onFollow={stay} /></div>
    : <div className="file-diff" tabIndex={0} role="region" aria-label={label} data-lines={lines.length}>{notes}{rows.map((_, n) => row(n))}{more}</div>;
}

function DiffRow({ row, look }: { row: Row; look: Look }): ReactNode {
  const head = row.left?.line.kind === "@" ? row.left.line : undefined;
  return head === undefined ? <UnifiedRow row={row} look={look} /> : <div className="hunk"><code className="muted"><Text of={head.text} /></code></div>;
}
