import { isIn, type Line } from "./diff";
import { changedParts, type Range } from "./marks";

/** One side of a row: a line, its place among all lines, and the parts of its text that its counterpart has otherwise. */
export interface Side { line: Line; at: number; marks: Range[] }

/** A row that is drawn. Unified: left is all. Split: left is the old file, right the new one. */
export interface Row { left?: Side; right?: Side }

/** What was removed, and what replaced it, without an unchanged line between them. */
interface Run { removed: Side[]; added: Side[] }

/** The rows of a diff. Every line is in one row; in a split row an unchanged one is on both sides. */
export function rowsOf(lines: Line[], split: boolean): Row[] {
  const rows: Row[] = [];
  for (let n = 0; n < lines.length;) {
    const line = lines[n]!, one: Side = { line, at: n, marks: [] };
    if (line.kind === "-" || line.kind === "+") {
      const run = runFrom(lines, n);
      rows.push(...(split ? beside(run) : [...run.removed, ...run.added].map((left) => ({ left }))));
      n += run.removed.length + run.added.length;
    } else {
      rows.push(split && line.kind !== "@" ? { left: one, right: one } : { left: one });
      n++;
    }
  }
  return rows;
}

/** Removed lines with their notes, then added ones with theirs. */
function runFrom(lines: Line[], from: number): Run {
  let n = from;
  const take = (kind: string): Side[] => {
    const taken: Side[] = [];
    for (; lines[n]?.kind === kind || taken.length > 0 && lines[n]?.kind === "\\"; n++) {
      taken.push({ line: lines[n]!, at: n, marks: [] });
    }
    return taken;
  };
  const run = { removed: take("-"), added: take("+") };
  mark(run);
  return run;
}

function beside({ removed, added }: Run): Row[] {
  return Array.from({ length: Math.max(removed.length, added.length) }, (_, n) => ({ left: removed[n], right: added[n] }));
}

/** Marks what differs within pairs of a removed and an added line. */
function mark({ removed, added }: Run): void {
  for (let n = 0; n < Math.min(removed.length, added.length); n++) {
    const old = removed[n]!, fresh = added[n]!;
    if (isIn(old.line) && isIn(fresh.line)) {
      [old.marks, fresh.marks] = changedParts(old.line.text, fresh.line.text);
    }
  }
}

const changes = (row: Row | undefined): boolean => [row?.left, row?.right].some((s) => s !== undefined && s.line.kind !== " " && s.line.kind !== "@");

/** The rows at which changes begin: the first row of each run. */
export const changesIn = (rows: Row[]): number[] => rows.flatMap((row, n) => (changes(row) && !changes(rows[n - 1]) ? [n] : []));

/** The row of a line, by its numbers. */
export function rowOf(rows: Row[], line: Pick<Line, "old" | "new">): number {
  return rows.findIndex((row) => [row.left, row.right].some((s) => s !== undefined && isIn(s.line) && s.line.old === line.old && s.line.new === line.new));
}
