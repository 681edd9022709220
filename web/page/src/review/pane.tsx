import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";

import { said, type Task } from "../lib/api";
import { grouped } from "../lib/format";
import { useMay } from "../lib/session";
import { marked, Text } from "../lib/text";
import { List, type ListHandle } from "../timeline/list";
import { useDiff } from "./api";
import { Comment } from "./comment";
import { hasCRLF, isIn, linesOf, type Line } from "./diff";
import { addDraft, useDrafts, type Draft } from "./drafts";
import { Highlighter, type Mode } from "./highlight";
import { useDiffKeys } from "./keys";
import { SplitRow, UnifiedRow, type Look } from "./line";
import { modeOf } from "./modes";
import { changesIn, rowOf, rowsOf, type Row } from "./rows";
import type { Changes, FileChange, FileDiff } from "./types";
import { notesOf, verbOf } from "./words";

const stay = (): void => undefined;
const step = 20; // lines of context that one click adds

/** Whether all lines of a diff are in the new, or in the old file. */
const isOneSided = (file: FileChange): boolean => file.status === "added" || file.status === "deleted";

interface Props { task: Task; changes: Changes; file: FileChange; split: boolean }

/** The diff of one file. */
export function Pane({ task, changes, file, split: wanted }: Props): ReactNode {
  const search = useSearch({ from: "/tasks/$id/changes" });
  const query = { from: changes.from.point, to: changes.to.point, path: file.path, context: search.context ?? 3, whitespace: search.whitespace ?? "show" } as const;
  const split = wanted && !isOneSided(file), diff = useDiff(task, query), pages = diff.data?.pages;
  const lines = useMemo(() => linesOf((pages ?? []).flatMap((p) => p.hunks)), [pages]);
  const head = <><Head task={task} changes={changes} file={file} pages={pages ?? []} lines={lines} />{lines.length === 0 && <FileKeys changes={changes} file={file} />}</>;
  if (diff.error !== null && pages === undefined) {
    return <section className="pane" aria-label="Diff">{head}<p className="notice bad" role="alert"><Text of={said(diff.error)} /></p></section>;
  }
  if (pages === undefined) {
    return <section className="pane" aria-label="Diff">{head}<p className="muted empty">Loading…{diff.failureReason !== null && <> <Text of={said(diff.failureReason)} /></>}</p></section>;
  }
  return (
    <section className="pane" aria-label="Diff" data-shown={file.path} data-lines={lines.length}>
      {head}
      {lines.length > 0 && <Lines task={task} changes={changes} file={file} lines={lines} split={split} next={diff.hasNextPage ? () => void diff.fetchNextPage() : undefined} busy={diff.isFetchingNextPage} />}
      {lines.length === 0 && search.whitespace === "ignore" && file.additions !== null && <p className="muted empty">Only whitespace differs.</p>}
    </section>
  );
}

/** n and p, while a file has no lines to show. */
function FileKeys({ changes, file }: { changes: Changes; file: FileChange }): ReactNode {
  useDiffKeys({ changes, file, starts: [], count: 0, at: -1, go: () => undefined, comment: undefined });
  return null;
}

/** The name of the file, and what lines cannot show of its change. */
function Head({ task, changes, file, pages, lines }: { task: Task; changes: Changes; file: FileChange; pages: FileDiff[]; lines: Line[] }): ReactNode {
  const at = { from: changes.from.point, to: changes.to.point, path: file.path };
  const drafts = useDrafts(task.id).filter((d) => d.line === 0 && d.path === at.path && d.from === at.from && d.to === at.to), may = useMay("write");
  const notes = [...notesOf(file), ...(hasCRLF(lines) ? ["Lines end in CRLF."] : []), ...(pages.some((p) => p.invalid_utf8) ? ["Bytes that are not UTF-8 are shown as �."] : [])];
  return (
    <header className="pane-head">
      <h2>{file.old_path !== null && file.old_path !== file.path && <><code><Text of={file.old_path} /></code> → </>}<code><Text of={file.path} /></code></h2>
      <span className="muted">{verbOf(file.status)}</span>
      {may && <button className="text small" onClick={() => addDraft(task.id, { ...at, side: "new", line: 0, quote: "" })}>Comment on the file</button>}
      {may && lines.length > 0 && <span className="muted small">To comment on a line, choose its +.</span>}
      {notes.map((note) => <p key={note} className="muted">{note}</p>)}
      {drafts.map((d) => <Comment key={d.id} task={task.id} draft={d} />)}
    </header>
  );
}

interface LinesProps { task: Task; changes: Changes; file: FileChange; lines: Line[]; split: boolean; next: (() => void) | undefined; busy: boolean }

function Lines({ task, changes, file, lines, split, next, busy }: LinesProps): ReactNode {
  const rows = useMemo(() => rowsOf(lines, split), [lines, split]), starts = useMemo(() => changesIn(rows), [rows]);
  const list = useRef<ListHandle>(null), [at, setAt] = useState(-1);
  const drafts = useDrafts(task.id).filter((d) => d.path === file.path && d.from === changes.from.point && d.to === changes.to.point);
  const look = useLook(task, changes, file, lines);
  const go = (row: number): void => {
    setAt(row);
    list.current?.reveal(row);
  };
  useDiffKeys({ changes, file, starts, count: rows.length, at, go, comment: look.comment && (() => commentOn(rows[at], look)) });
  const more = useExpand(rows, go), expand = isOneSided(file) ? undefined : more;
  const row = (n: number): ReactNode => {
    const of = rows[n];
    return of === undefined ? <Next next={next!} busy={busy} shown={lines.filter(isIn).length} />
      : <DiffRow of={of} split={split} look={look} now={n === at} drafts={drafts.filter((d) => isOn(d, of))} task={task.id} expand={expand} />;
  };
  return (
    <List plain estimate={20} key={`${changes.from.point} ${changes.to.point} ${file.path} ${split}`} count={rows.length + Number(next !== undefined)} label={marked(`Lines of ${file.path}`)}
      row={row} follow={false} onFollow={stay} handle={list} />
  );
}

function useLook(task: Task, changes: Changes, file: FileChange, lines: Line[]): Look {
  const may = useMay("write"), mode = useMode(file.path);
  return useMemo(() => ({
    highlighter: mode === undefined ? undefined : new Highlighter(mode, lines), crlf: hasCRLF(lines),
    comment: may ? (side: "old" | "new", line: Line) =>
      addDraft(task.id, { from: changes.from.point, to: changes.to.point, path: file.path, side, line: line[side], quote: line.text.slice(0, 1000) }) : undefined,
  }), [mode, lines, may, task.id, changes, file.path]);
}

/** The language of a file, once it is loaded. */
function useMode(path: string): Mode | undefined {
  const [loaded, setLoaded] = useState<{ path: string; mode: Mode | undefined }>();
  useEffect(() => {
    let wanted = true;
    modeOf(path).then((mode) => wanted && setLoaded({ path, mode }), () => undefined); // text without colors
    return () => { wanted = false; };
  }, [path]);
  return loaded?.path === path ? loaded.mode : undefined;
}

/** Shows more context, and keeps the line below the head of a hunk in view. */
function useExpand(rows: Row[], go: (row: number) => void): (row: Row) => void {
  const navigate = useNavigate(), search = useSearch({ from: "/tasks/$id/changes" }), kept = useRef<Line>(undefined);
  useEffect(() => {
    const row = kept.current === undefined ? -1 : rowOf(rows, kept.current);
    if (row >= 0) {
      go(row);
    }
    kept.current = undefined;
  }, [rows]);
  return (head) => {
    kept.current = rows[rows.indexOf(head) + 1]?.left?.line;
    void navigate({ to: ".", search: { ...search, context: (search.context ?? 3) + step } });
  };
}

const commentOn = (row: Row | undefined, look: Look): void => {
  const line = row?.right?.line ?? row?.left?.line;
  if (line !== undefined && isIn(line)) {
    look.comment?.(line.kind === "-" ? "old" : "new", line);
  }
};

const isOn = (draft: Draft, { left, right }: Row): boolean => [left, right].some((s) => s !== undefined && isIn(s.line) && s.line[draft.side] === draft.line);

interface RowProps { of: Row; split: boolean; look: Look; now: boolean; drafts: Draft[]; task: string; expand: ((row: Row) => void) | undefined }

function DiffRow({ of, split, look, now, drafts, task, expand }: RowProps): ReactNode {
  const head = of.left?.line.kind === "@" ? of.left.line : undefined;
  return (
    <div className={now ? "now" : undefined}>
      {head !== undefined
        ? <div className="hunk">{expand !== undefined && <button className="text small" onClick={() => expand(of)}>More context</button>} <code className="muted"><Text of={head.text} /></code></div>
        : split ? <SplitRow row={of} look={look} /> : <UnifiedRow row={of} look={look} />}
      {drafts.map((d) => <Comment key={d.id} task={task} draft={d} />)}
    </div>
  );
}

function Next({ next, busy, shown: n }: { next: () => void; busy: boolean; shown: number }): ReactNode {
  return <div className="hunk"><button onClick={next} disabled={busy}>{busy ? "Loading…" : "Show the next 2,000 lines"}</button> <span className="muted small">{grouped(n)} lines are shown</span></div>;
}
