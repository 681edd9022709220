import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState, useSyncExternalStore, type ReactNode } from "react";

import { codeOf, said, type Task } from "../lib/api";
import { useKeys } from "../lib/keyboard";
import { exactly } from "../lib/links";
import { Text } from "../lib/text";
import { useChanges } from "./api";
import { Compare } from "./compare";
import { isWritten, useDrafts } from "./drafts";
import { contentOf, Files } from "./files";
import { look, lookedAt } from "./looked";
import { Pane } from "./pane";
import { toServer } from "./search";
import { treeRows } from "./tree";
import type { Changes } from "./types";

interface ShownFiles { shown: Changes | undefined; newer: (() => void) | undefined; error: unknown; waits: unknown }

/** The comparison that the reader sees. A running agent changes files: the newer ones are offered, and never take the place. */
export function useShown(task: Task, from: string, to: string): ShownFiles {
  const loaded = useChanges(task, toServer(from), toServer(to)), key = `${from} ${to}`;
  const [pinned, pin] = useState<{ key: string; changes: Changes }>();
  const newest = loaded.data;
  const free = pinned?.key !== key || pinned.changes.total_files === 0; // there is no place to lose
  if (newest !== undefined && free && newest !== pinned?.changes) {
    pin({ key, changes: newest });
  }
  const shown = pinned?.key === key ? pinned.changes : newest;
  const moved = newest !== undefined && shown !== undefined && (newest.to.commit !== shown.to.commit || newest.from.commit !== shown.from.commit);
  return { shown, newer: moved ? () => pin({ key, changes: newest }) : undefined, error: shown === undefined ? loaded.error : null, waits: loaded.failureReason };
}

/** The changed files between two points, and the diff of one of them. */
export function FileView({ task, files: { shown, newer, error, waits } }: { task: Task; files: ShownFiles }): ReactNode {
  return (
    <>
      <div className="review-bar">
        <Compare task={task} />
        <Options task={task} />
        {newer !== undefined && <p className="notice newer spread" role="status"><b className="s-needs">These are older files:</b> the agent changed files since. <button className="primary" onClick={newer}>Show the newest</button></p>}
      </div>
      {error !== null && <p className="notice" role="alert" data-refused={codeOf(error)}><Text of={said(error)} /></p>}
      {error === null && shown === undefined && <p className="muted empty">Loading…{waits !== null && <> <Text of={said(waits)} /></>}</p>}
      {shown?.total_files === 0 && <p className="muted empty">No file differs between these two.</p>}
      {shown !== undefined && shown.total_files > 0 && <Body task={task} changes={shown} />}
    </>
  );
}

const useMedia = (query: string): boolean => useSyncExternalStore((changed) => {
  const media = matchMedia(query);
  media.addEventListener("change", changed);
  return () => media.removeEventListener("change", changed);
}, () => matchMedia(query).matches);

/** Whether a diff is shown side by side: never on a phone, and by itself in a wide window. */
function useSplit(): boolean {
  const chosen = useSearch({ from: "/tasks/$id/changes" }).split, wide = useMedia("(min-width: 1100px)");
  return useMedia("(min-width: 760px)") && (chosen ?? wide);
}

function Options({ task }: { task: Task }): ReactNode {
  const search = useSearch({ from: "/tasks/$id/changes" }), navigate = useNavigate();
  const split = useSplit();
  useKeys((event) => {
    if (event.key === "s") {
      void navigate({ to: ".", search: { ...search, split: !split } });
    }
  });
  return (
    <span className="chips">
      {task.branch_name !== null && <a className="small less" href={`/api/v1/tasks/${task.id}/diff`} target="_blank" rel="noreferrer">Raw diff</a>}
      <Link className="chip less" to="." search={{ ...search, split: !split }} activeOptions={exactly} title="Key: s" aria-current={split ? "true" : undefined}>Split</Link>
      <Link className="chip" to="." search={{ ...search, whitespace: search.whitespace === "ignore" ? undefined : "ignore" }} activeOptions={exactly} aria-current={search.whitespace === "ignore" ? "true" : undefined}>Ignore whitespace</Link>
    </span>
  );
}

function Body({ task, changes }: { task: Task; changes: Changes }): ReactNode {
  const search = useSearch({ from: "/tasks/$id/changes" }), drafts = useDrafts(task.id);
  const file = changes.files.find((f) => f.path === search.path) ?? (search.path === undefined ? treeRows(changes.files, new Set()).find((r) => r.file)?.file : undefined);
  const split = useSplit(), [looked, setLooked] = useState(() => lookedAt(task.id));
  useEffect(() => {
    if (file !== undefined) {
      look(task.id, file.path, contentOf(file));
      return () => setLooked(lookedAt(task.id));
    }
  }, [task.id, file]);
  return (
    <div className="review-body">
      <Files changes={changes} path={file?.path} looked={looked} commented={new Set(drafts.filter(isWritten).map((d) => d.path))} />
      {file === undefined ? <section className="pane"><p className="muted empty"><code><Text of={search.path ?? ""} /></code> does not differ between these two.</p></section>
        : <Pane key={file.path} task={task} changes={changes} file={file} split={split} />}
    </div>
  );
}
