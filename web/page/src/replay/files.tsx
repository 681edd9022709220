import { Link } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";

import { FileDiff } from "../compare/diff";
import { said, type Task } from "../lib/api";
import { cutMiddle, grouped, many } from "../lib/format";
import { useSettled } from "../lib/settled";
import { Clock, Text } from "../lib/text";
import { useChanges } from "../review/api";
import { fromServer } from "../review/search";
import { counts, verbOf } from "../review/words";
import type { TaskEvents } from "../stream/events";
import type { AttemptLog } from "../stream/store";
import { Fields } from "../timeline/fields";
import { checkpointAt } from "./moment";

interface Props { task: Task; events: TaskEvents; log: AttemptLog; n: number }

/** The changed files as of the newest checkpoint at an event. */
export function Files({ task, events, log, n }: Props): ReactNode {
  const taken = checkpointAt(events, log, n), began = task.attempts.find((a) => a.number === log.attempt)?.restored_from ?? "";
  if (taken === undefined) {
    return <Frame><p className="muted">Loading…</p></Frame>;
  }
  if (taken !== null) {
    const point = `${log.attempt}.${Fields.of(taken).number("checkpoint") ?? 0}`;
    return (
      <Frame at={point}>
        <p className="small muted">
          Checkpoint {point}, taken at <Link to="." hash={`e${log.attempt}:${taken.sequence}`}>event {grouped(taken.sequence)}</Link> (<Clock at={taken.created_at} />)
          {taken.sequence < n && `, ${many(n - taken.sequence, "event")} before this one`}.
        </p>
        <Changed task={task} point={point} />
      </Frame>
    );
  }
  return (
    <Frame at={began === "" ? "base" : began}>
      <p className="small muted">No checkpoint was taken before event {grouped(n)}. The attempt started with the files of {began === "" ? "the branch" : `checkpoint ${began}`}.</p>
      {began !== "" && <Changed task={task} point={began} />}
    </Frame>
  );
}

function Frame({ at, children }: { at?: string; children: ReactNode }): ReactNode {
  return <section className="panel replay-files" aria-label="Files" data-point={at}><h2>Files</h2><div className="replay-body">{children}</div></section>;
}

/** What a reader who moves on quickly would not see is not asked for. */
const rest = 250;

function Changed({ task, point: wanted }: { task: Task; point: string }): ReactNode {
  const point = useSettled(wanted, rest), changes = useChanges(task, "base", point), [open, setOpen] = useState("");
  if (changes.data === undefined) {
    return changes.error === null ? <p className="muted">Loading…</p> : <p className="notice" role="status"><Text of={said(changes.error)} /></p>;
  }
  const { files, total_files: total } = changes.data;
  return (
    <>
      <p className="small" data-shown={point}>{total === 0 ? "No file differs from the start of the task." : `Since the start of the task: ${many(total, "changed file")} ${counts(changes.data)}`} <Link to="/tasks/$id/changes" params={{ id: task.key }} search={{ to: fromServer(point) }}>Review</Link></p>
      <ul>
        {files.map((f) => (
          <li key={f.path} data-path={f.path} data-object={f.new_object}>
            <button className="text file" aria-expanded={open === f.path} onClick={() => setOpen(open === f.path ? "" : f.path)}>
              <span className="muted">{verbOf(f.status)}</span> <code className="grow"><Text of={cutMiddle(f.path, 120)} /></code> <span className="muted small">{f.binary ? "binary" : counts(f)}</span>
            </button>
            {open === f.path && <FileDiff task={task} path={f.path} from="base" to={point} />}
          </li>
        ))}
      </ul>
      {files.length < total && <p className="muted small">The first {grouped(files.length)} files.</p>}
    </>
  );
}
