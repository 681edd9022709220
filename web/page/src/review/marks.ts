/** A part of a text, from one position to before another. */
export interface Range { from: number; to: number }

const longest = 400; // longer lines have no marks
const common = 0.4; // lines that have less in common are other lines

/** What differs between two lines: one part of each, between the same beginning and the same end. None if too little is the same. */
export function changedParts(old: string, fresh: string): [Range[], Range[]] {
  const short = Math.min(old.length, fresh.length), long = Math.max(old.length, fresh.length);
  if (long > longest || old === fresh) {
    return [[], []];
  }
  let head = 0, tail = 0;
  while (head < short && old[head] === fresh[head]) {
    head++;
  }
  head -= Number(splitsPair(old, head) || splitsPair(fresh, head));
  while (tail < short - head && old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]) {
    tail++;
  }
  tail -= Number(splitsPair(old, old.length - tail) || splitsPair(fresh, fresh.length - tail));
  if (head + tail < long * common) {
    return [[], []];
  }
  while (cutsWord(old, head) || cutsWord(fresh, head)) {
    head--;
  }
  while (tail < short - head && old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]) {
    tail++;
  }
  while (cutsWord(old, old.length - tail) || cutsWord(fresh, fresh.length - tail)) {
    tail--;
  }
  const part = (text: string): Range[] => (text.length - tail > head ? [{ from: head, to: text.length - tail }] : []);
  return [part(old), part(fresh)];
}

/** Whether a position is within a word or a number. */
const cutsWord = (text: string, at: number): boolean => /[\p{L}\p{N}_\ud800-\udfff]/u.test(text[at - 1] ?? "") && /[\p{L}\p{N}_\ud800-\udfff]/u.test(text[at] ?? "");

/** Whether a position is between the two halves of a character outside of the first plane. */
const splitsPair = (text: string, at: number): boolean => /[\udc00-\udfff]/.test(text[at] ?? "") && /[\ud800-\udbff]/.test(text[at - 1] ?? "");
