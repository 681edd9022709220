import { now } from "./clock";

/** A duration in words: "41 s", "12:40", "3 h 5 min", "2 d 4 h". */
export function duration(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) {
    return ms < 1000 ? `${Math.max(0, Math.round(ms))} ms` : `${s} s`;
  }
  if (s < 3600) {
    return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`;
  }
  if (s < 86400) {
    return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  }
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

/** An age in one unit: "4 s", "4 min", "2 h", "3 d". */
export function age(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60]] as const) {
    if (s >= size) {
      return `${Math.floor(s / size)} ${unit}`;
    }
  }
  return `${s} s`;
}

const clockForm = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const dateForm = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });

const dayForm = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export const clock = (at: string | number): string => clockForm.format(new Date(at));
export const day = (at: string | number): string => dayForm.format(new Date(at));
export const date = (at: string | number): string => dateForm.format(new Date(at));

/** A moment: the time of day, with its date unless that is today. */
export const when = (at: string | number): string => (new Date(at).toDateString() === new Date(now()).toDateString() ? clock(at) : day(at));

/** Money with two digits, four below a cent. Unknown is never 0. */
export function usd(amount: number | null | undefined, unknown = false): string {
  if (amount === null || amount === undefined) {
    return "unknown";
  }
  return `${unknown ? "at least " : ""}${amount.toFixed(amount > 0 && amount < 0.01 ? 4 : 2)} USD`;
}

/** A number with its magnitude: 812, 38 k, 1.2 M. */
export function count(n: number): string {
  for (const [unit, size] of [["M", 1e6], ["k", 1e3]] as const) {
    if (n >= size * 10 || n >= size && unit === "M") {
      return `${(n / size).toFixed(n < size * 10 ? 1 : 0)} ${unit}`;
    }
  }
  return grouped(n);
}

export const grouped = (n: number): string => n.toLocaleString("en-US");

/** A number and its noun: "1 file", "2 files". */
export const many = (n: number, noun: string, plural = `${noun}s`): string => `${grouped(n)} ${n === 1 ? noun : plural}`;

const ordinals = new Intl.PluralRules("en", { type: "ordinal" }), endings: Record<string, string> = { one: "st", two: "nd", few: "rd" };

/** A place in an order: 1st, 2nd, 11th. */
export const ordinal = (n: number): string => `${grouped(n)}${endings[ordinals.select(n)] ?? "th"}`;

export function bytes(n: number): string {
  for (const [unit, size] of [["MiB", 2 ** 20], ["KiB", 2 ** 10]] as const) {
    if (n >= size) {
      return `${(n / size).toFixed(1)} ${unit}`;
    }
  }
  return `${n} B`;
}

/** Cuts a text in the middle, so that beginning and end stay readable. */
export function cutMiddle(text: string, most: number): string {
  const head = Math.ceil((most - 1) / 2);
  return text.length <= most ? text : `${text.slice(0, head)}…${text.slice(text.length - (most - 1 - head))}`;
}
