import type { Token } from "./highlight";
import type { Range } from "./marks";

/** A part of a line that is drawn in one way. */
export interface Segment { text: string; tone: string; marked: boolean }

/** Cuts a text where a token or a marked part begins or ends. The texts of the segments, joined, are the text. */
export function segmentsOf(text: string, tokens: Token[], marks: Range[]): Segment[] {
  const cuts = [...new Set([0, text.length, ...[...tokens, ...marks].flatMap((r) => [r.from, r.to])])].filter((at) => at >= 0 && at <= text.length).sort((a, b) => a - b);
  let token = 0;
  return cuts.slice(0, -1).map((from, n) => {
    const to = cuts[n + 1]!;
    while (tokens[token] !== undefined && tokens[token]!.to <= from) {
      token++;
    }
    const here = tokens[token];
    return { text: text.slice(from, to), tone: here !== undefined && here.from <= from ? here.tone : "", marked: marks.some((m) => m.from <= from && m.to >= to) };
  });
}
