import { Link, useSearch } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";

import { cutMiddle, grouped } from "../lib/format";
import { exactly } from "../lib/links";
import { marked, Text } from "../lib/text";
import { List } from "../timeline/list";
import { filtered, treeRows, type TreeRow } from "./tree";
import type { Changes, FileChange } from "./types";
import { counts, signOf, verbOf } from "./words";

interface Props { changes: Changes; path: string | undefined; looked: Readonly<Record<string, string>>; commented: ReadonlySet<string> }

const stay = (): void => undefined;

/** The changed files as a tree, with a filter. */
export function Files({ changes, path, looked, commented }: Props): ReactNode {
  const [filter, setFilter] = useState(""), [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const rows = treeRows(filtered(changes.files, filter), filter === "" ? closed : new Set());
  const fold = (folder: string): void => setClosed((was) => (was.has(folder) ? new Set([...was].filter((f) => f !== folder)) : new Set([...was, folder])));
  const row = (n: number): ReactNode => {
    const of = rows[n]!;
    return of.file === undefined ? <FolderRow of={of} open={!closed.has(of.path)} fold={fold} />
      : <FileRow of={of} file={of.file} current={of.path === path} looked={looked[of.path]} commented={commented.has(of.path)} />;
  };
  return (
    <nav className="files" aria-label="Changed files">
      <input type="search" aria-label="Filter files" placeholder="Filter files   /" value={filter} onChange={(e) => setFilter(e.target.value)} />
      {changes.truncated && <p className="muted small">The first {grouped(changes.files.length)} of {grouped(changes.total_files)} files.</p>}
      {rows.length === 0 ? <p className="muted small">No changed file has this text in its path.</p>
        : <List plain estimate={28} count={rows.length} label="Files" row={row} follow={false} onFollow={stay} key={filter} />}
    </nav>
  );
}

function FolderRow({ of, open, fold }: { of: TreeRow; open: boolean; fold: (path: string) => void }): ReactNode {
  return (
    <button className={`text file-row d${Math.min(of.depth, 8)}`} aria-expanded={open} onClick={() => fold(of.path)}>
      <span className="muted">{open ? "▾" : "▸"}</span><span className="one-line grow" title={marked(of.path)}><Text of={cutMiddle(of.name, 60)} />/</span>
    </button>
  );
}

interface FileProps { of: TreeRow; file: FileChange; current: boolean; looked: string | undefined; commented: boolean }

function FileRow({ of, file, current, looked, commented }: FileProps): ReactNode {
  const search = useSearch({ from: "/tasks/$id/changes" });
  const unread = looked === undefined || looked !== contentOf(file).slice(0, 16);
  return (
    <Link className={`file-row d${Math.min(of.depth, 8)} ${unread ? "strong" : ""}`} to="." search={{ ...search, path: of.path }} activeOptions={exactly}
      aria-current={current ? "page" : undefined} title={marked(file.path)}>
      <span className={`sign s-${file.status}`} title={verbOf(file.status)}>{signOf(file.status)}<span className="hidden-text"> {verbOf(file.status)}: </span></span>
      <span className="one-line grow"><Text of={cutMiddle(of.name, 60)} /></span>
      {looked !== undefined && unread && <span className="s-needs" title="Changed since you last looked">●<span className="hidden-text"> changed since you last looked</span></span>}
      {commented && <span className="s-run small">comment</span>}
      <span className="muted small">{file.binary ? "binary" : file.submodule ? "submodule" : counts(file)}</span>
    </Link>
  );
}

/** A key of the content that a comparison shows of a file. */
export const contentOf = (file: FileChange): string => file.new_object || `deleted ${file.old_object}`;
