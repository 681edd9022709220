import { Link } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";

import { said, type Task } from "../lib/api";
import { cutMiddle, grouped } from "../lib/format";
import { Text } from "../lib/text";
import type { useChanges } from "../review/api";
import { fromServer } from "../review/search";
import type { FileChange } from "../review/types";
import { counts } from "../review/words";
import { FileDiff } from "./diff";

export interface Point { task: Task; point: string; changes: ReturnType<typeof useChanges> }

export type Relation = "only a" | "only b" | "different" | "same";
export interface Pair { path: string; relation: Relation; a?: FileChange; b?: FileChange }

const order: Relation[] = ["different", "only a", "only b", "same"];

/** What both sides did to each file that one of them changed. */
export function pairsOf(a: FileChange[], b: FileChange[]): Pair[] {
  const inB = new Map(b.map((f) => [f.path, f])), inA = new Set(a.map((f) => f.path));
  const pairs = [
    ...a.map((f): Pair => ({ path: f.path, a: f, b: inB.get(f.path), relation: relationOf(f, inB.get(f.path)) })),
    ...b.filter((f) => !inA.has(f.path)).map((f): Pair => ({ path: f.path, b: f, relation: "only b" })),
  ];
  return pairs.sort((x, y) => order.indexOf(x.relation) - order.indexOf(y.relation) || (x.path < y.path ? -1 : 1));
}

const relationOf = (a: FileChange, b: FileChange | undefined): Relation =>
  b === undefined ? "only a" : a.new_object === b.new_object && a.new_mode === b.new_mode ? "same" : "different";

const words: Record<Relation, string> = { "only a": "only A", "only b": "only B", different: "different", same: "same" };

/** The files that one of two attempts changed, with their differences. */
export function Files({ a, b, all }: { a: Point; b: Point; all: boolean }): ReactNode {
  const error = a.changes.error ?? b.changes.error, [open, setOpen] = useState("");
  if (a.changes.data === undefined || b.changes.data === undefined) {
    return error === null ? <p className="message muted">Loading…</p> : <p className="message" role="status"><Text of={said(error)} /></p>;
  }
  const pairs = pairsOf(a.changes.data.files, b.changes.data.files), shown = pairs.filter((p) => all || p.relation !== "same"), same = pairs.length - shown.length;
  const one = a.task.id === b.task.id, cut = a.changes.data.truncated || b.changes.data.truncated;
  return (
    <>
      {one && <p className="message small"><Link to="/tasks/$id/changes" params={{ id: a.task.key }} search={{ from: fromServer(a.point), to: fromServer(b.point) }}>Review from A to B</Link></p>}
      {cut && <p className="message small bad">The server lists the first 3,000 files of a side: more may differ.</p>}
      {shown.length === 0 && <p className="message muted">{pairs.length === 0 ? "Neither side changed a file." : "Both sides left the same files."}</p>}
      {shown.map((p) => (
        <div key={p.path} className="message pair" data-path={p.path} data-relation={p.relation}>
          <button className="text file" aria-expanded={open === p.path} onClick={() => setOpen(open === p.path ? "" : p.path)}>
            <span className="relation">{words[p.relation]}</span> <code className="grow"><Text of={cutMiddle(p.path, 160)} /></code>
            <span className="muted small">{[p.a && `A ${counts(p.a)}`, p.b && `B ${counts(p.b)}`].filter(Boolean).join(" · ")}</span>
          </button>
          {open === p.path && (one ? <FileDiff task={a.task} path={p.path} from={a.point} to={b.point} /> : <Both of={p} a={a} b={b} />)}
        </div>
      ))}
      {same > 0 && <p className="message muted small">{grouped(same)} {same === 1 ? "file is" : "files are"} the same.</p>}
    </>
  );
}

/** Two tasks have no common history: each change is shown from the start of its own branch. */
function Both({ of, a, b }: { of: Pair; a: Point; b: Point }): ReactNode {
  return (
    <div className="both">
      {[{ word: "A", side: a, has: of.a }, { word: "B", side: b, has: of.b }].map(({ word, side, has }) => (
        <div key={word}>
          <p className="small muted">{word}, from the start of its branch</p>
          {has === undefined ? <p className="small muted">Not changed.</p> : <FileDiff task={side.task} path={of.path} from="base" to={side.point} />}
        </div>
      ))}
    </div>
  );
}
