import type { Hunk } from "./types";

/** What a line of a diff is. "\\": a note that the line before has no newline; "@": the head of a hunk. */
export type Kind = " " | "+" | "-" | "\\" | "@";

export interface Line {
  kind: Kind;
  /** Without the character that says what the line is. */
  text: string;
  /** Numbers in the old and in the new file, from 1. 0: the line is not in that file. */
  old: number;
  new: number;
  /** Length of the whole line in bytes, if text is only its beginning. */
  cut?: number;
}

/** Whether a line is one of the old or of the new file. */
export const isIn = (line: Line): boolean => line.kind !== "\\" && line.kind !== "@";

/** The lines of hunks, each hunk below its head. A hunk that continues the one before, on the next page, has none. */
export function linesOf(hunks: Hunk[]): Line[] {
  const lines: Line[] = [];
  let old = 0, fresh = 0;
  for (const h of hunks) {
    if (lines.length === 0 || start(h.old_start, h.old_lines) !== old || start(h.new_start, h.new_lines) !== fresh) {
      lines.push({ kind: "@", text: headOf(h), old: 0, new: 0 });
    }
    [old, fresh] = [start(h.old_start, h.old_lines), start(h.new_start, h.new_lines)];
    const cut = new Map(h.cut.map((c) => [c.line, c.bytes]));
    h.lines.forEach((raw, n) => {
      const line = lineOf(raw, old, fresh, cut.get(n));
      old += Number(line.old > 0);
      fresh += Number(line.new > 0);
      lines.push(line);
    });
  }
  return lines;
}

/** Git says that a hunk without lines begins at the line before. */
const start = (at: number, lines: number): number => (lines === 0 ? at + 1 : at);

const headOf = (h: Hunk): string => `@@ -${h.old_start},${h.old_lines} +${h.new_start},${h.new_lines} @@${h.section === "" ? "" : ` ${h.section}`}`;

function lineOf(raw: string, old: number, fresh: number, cut: number | undefined): Line {
  const known = /^[-+ \\]/.test(raw), kind = known ? (raw[0] as Kind) : " ";
  const line: Line = { kind, text: known ? raw.slice(1) : raw, old: kind === " " || kind === "-" ? old : 0, new: kind === " " || kind === "+" ? fresh : 0 };
  return cut === undefined ? line : { ...line, cut };
}

/** Whether all lines end in CRLF. Then the ends need no marks. */
export function hasCRLF(lines: Line[]): boolean {
  const inside = lines.filter((line) => isIn(line) && line.cut === undefined);
  return inside.length > 0 && inside.every((line) => line.text.endsWith("\r"));
}
