import type { CSSProperties } from "react";

/** A color as 0xRRGGBB; below 0: -1 - n is color n of the 16 named ones. */
type Color = number;

/** What SGR sequences have switched on. */
export interface Look {
  text?: Color;
  ground?: Color;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
  strike?: boolean;
  inverse?: boolean;
}

export type Style = Readonly<CSSProperties>;

/** The ground and the text of a terminal, in both themes. */
export const ground = 0x16161a, text = 0xd8d8d4;

const texts = [
  0x85858d, 0xff8a80, 0x7ccf92, 0xd9bb5b, 0x86aeff, 0xe093e8, 0x63cdd3, 0xd8d8d4,
  0xa3a3ab, 0xffaaa2, 0x9be3ae, 0xf0d880, 0xa9c5ff, 0xeeb5f4, 0x93e4e8, 0xffffff,
];
const grounds = [
  0x000000, 0x7d1f1a, 0x1d5a2d, 0x6b5300, 0x1f3f8a, 0x6a2a6f, 0x0f5a60, 0xb8b8b4,
  0x4a4a50, 0xa5342d, 0x2c7d42, 0x8f7000, 0x2f5bbf, 0x8f3d95, 0x197a82, 0xe8e8e4,
];
const levels = [0, 95, 135, 175, 215, 255];

/** Color n of 256. */
function indexed(n: number): Color {
  if (n < 16) {
    return -1 - n;
  }
  if (n < 232) {
    const at = n - 16;
    return (levels[Math.floor(at / 36)]! << 16) | (levels[Math.floor(at / 6) % 6]! << 8) | levels[at % 6]!;
  }
  return (8 + (n - 232) * 10) * 0x010101;
}

const onOff: Record<number, Look> = {
  1: { bold: true }, 2: { dim: true }, 3: { italic: true }, 4: { underline: true }, 7: { inverse: true }, 9: { strike: true }, 21: { underline: true },
  22: { bold: undefined, dim: undefined }, 23: { italic: undefined }, 24: { underline: undefined }, 27: { inverse: undefined },
  29: { strike: undefined }, 39: { text: undefined }, 49: { ground: undefined },
};

/** Applies the parameters of an SGR sequence. Unknown ones change nothing. */
export function look(was: Look, parameters: string): Look {
  let now: Look = was;
  const codes = parameters.split(";");
  for (let at = 0; at < codes.length; at++) {
    const [code, ...parts] = codes[at]!.split(":");
    const n = Number(code);
    if (n === 38 || n === 48) {
      const [color, used] = parts.length > 0 ? [extended(parts), 0] : following(codes, at + 1);
      at += used;
      now = color === undefined ? now : { ...now, [n === 38 ? "text" : "ground"]: color };
    } else if (n === 0) {
      now = {};
    } else {
      now = { ...now, ...(parts[0] === "0" ? onOff[n + 20] : onOff[n] ?? named(n)) };
    }
  }
  return now;
}

function named(n: number): Look | undefined {
  for (const [from, first] of [[30, 0], [90, 8]] as const) {
    if (n >= from && n <= from + 7) {
      return { text: -1 - (first + n - from) };
    }
    if (n >= from + 10 && n <= from + 17) {
      return { ground: -1 - (first + n - from - 10) };
    }
  }
  return undefined;
}

/** Reads a color in the form 2;r;g;b or 5;n, and says how many parameters it had. */
function following(codes: string[], at: number): [Color | undefined, number] {
  const used = codes[at] === "2" ? 4 : codes[at] === "5" ? 2 : 0;
  return [extended(codes.slice(at, at + used)), used];
}

/** Reads a color in the form 5 n, 2 r g b, or with colons 2 space r g b. */
function extended(parts: string[]): Color | undefined {
  const values = parts.slice(parts[0] === "2" && parts.length > 4 ? 2 : 1).map(Number);
  if (values.some((v) => !(v >= 0 && v <= 255))) {
    return undefined;
  }
  if (parts[0] === "5" && values.length === 1) {
    return indexed(values[0]!);
  }
  return parts[0] === "2" && values.length >= 3 ? (values[0]! << 16) | (values[1]! << 8) | values[2]! : undefined;
}

const known = new Map<string, Style | undefined>();

/** How a look is drawn; equal looks give the same object. */
export function styleOf(of: Look): Style | undefined {
  const key = JSON.stringify(of);
  if (!known.has(key)) {
    if (known.size > 4000) {
      known.clear();
    }
    known.set(key, drawn(of));
  }
  return known.get(key);
}

function drawn(of: Look): Style | undefined {
  const front = of.inverse ? of.ground : of.text, back = of.inverse ? of.text ?? text : of.ground;
  const behind = back === undefined ? ground : back < 0 ? grounds[-1 - back]! : back;
  let color = front === undefined ? (of.inverse ? ground : text) : front < 0 ? texts[-1 - front]! : front;
  color = readable(of.dim ? mixed(color, behind, 0.35) : color, behind);
  const style: CSSProperties = {
    ...(color !== text && { color: css(color) }),
    ...(back !== undefined && { backgroundColor: css(behind) }),
    ...(of.bold && { fontWeight: 600 }),
    ...(of.italic && { fontStyle: "italic" }),
    ...((of.underline || of.strike) && { textDecoration: `${of.underline ? "underline" : ""}${of.strike ? " line-through" : ""}`.trim() }),
  };
  return Object.keys(style).length === 0 ? undefined : style;
}

const css = (color: number): string => `#${color.toString(16).padStart(6, "0")}`;
const channels = (color: number): number[] => [color >> 16, (color >> 8) & 255, color & 255];

function mixed(color: number, to: number, part: number): number {
  const other = channels(to);
  return channels(color).reduce((sum, c, n) => (sum << 8) | Math.round(c + (other[n]! - c) * part), 0);
}

function luminance(color: number): number {
  const [r, g, b] = channels(color).map((c) => (c <= 10 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

/** The contrast of two colors, from 1 to 21 (WCAG 2). */
export function contrast(one: number, other: number): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high! + 0.05) / (low! + 0.05);
}

/** Moves a color away from its ground until its contrast is at least 4.5. */
function readable(color: number, behind: number): number {
  const to = contrast(0xffffff, behind) >= contrast(0, behind) ? 0xffffff : 0;
  let part = 0, now = color;
  while (contrast(now, behind) < 4.5 && part < 1) {
    part = Math.min(1, part + 0.1);
    now = mixed(color, to, part);
  }
  return now;
}
