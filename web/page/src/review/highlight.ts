import { StringStream, type StreamParser } from "@codemirror/language";

import { isIn, type Line } from "./diff";

/** A part of a line with one look. */
export interface Token { from: number; to: number; tone: string }

export type Mode = StreamParser<unknown>;

const longest = 1000; // longer lines have no tokens
const far = 400; // lines to read for one that is asked for; farther ones are read without what stands before
const tries = 10;

const tones: Record<string, string> = {
  keyword: "k", operatorKeyword: "k", modifier: "k", qualifier: "k", comment: "c", string: "s", "string-2": "s", regexp: "s", character: "s", link: "s", url: "s",
  number: "n", atom: "n", bool: "n", unit: "n", type: "t", typeName: "t", className: "t", tag: "t", tagName: "t", attribute: "a", attributeName: "a",
  meta: "m", processingInstruction: "m", def: "d", heading: "d", header: "d", labelName: "d", "variableName.definition": "d", "propertyName.definition": "d", builtin: "b", "variableName.standard": "b",
};

/** Reads the tokens of lines when they are drawn. A removed line is read as if it followed the unchanged one before it. */
export class Highlighter {
  private readonly read = new Map<number, Token[]>();
  private at = -1; // the last line that was read
  private fresh: unknown;
  private old: unknown; // within a run of removed lines

  constructor(private readonly mode: Mode, private readonly lines: Line[]) {}

  tokens(n: number): Token[] {
    if (!this.read.has(n)) {
      if (n <= this.at || n - this.at > far) {
        this.begin(Math.max(0, n - far / 4));
      }
      while (this.at < n) {
        this.next();
      }
    }
    return this.read.get(n)!;
  }

  private begin(n: number): void {
    this.at = n - 1;
    this.fresh = this.mode.startState?.(2) ?? {};
    this.old = undefined;
  }

  private next(): void {
    const n = this.at + 1, line = this.lines[n]!;
    if (line.kind === "@") {
      this.begin(n);
    }
    this.at = n;
    this.old = line.kind === "-" || line.kind === "\\" ? this.old ?? copy(this.mode, this.fresh) : undefined;
    this.read.set(n, isIn(line) ? tokensOf(this.mode, line.kind === "-" ? this.old : this.fresh, line.text) : []);
  }
}

/** Copies a state as CodeMirror does. */
function copy(mode: Mode, state: unknown): unknown {
  if (mode.copyState !== undefined || typeof state !== "object" || state === null) {
    return mode.copyState?.(state) ?? state;
  }
  return Object.fromEntries(Object.entries(state).map(([name, value]) => [name, Array.isArray(value) ? value.slice() : value]));
}

/** The tokens of one line. A mode that fails gives none. */
function tokensOf(mode: Mode, state: unknown, text: string): Token[] {
  const tokens: Token[] = [], stream = new StringStream(text.replace(/[\n\r\u2028\u2029]/g, " "), 4, 2); // modes never end where such a character is
  if (text.length > longest) {
    return tokens;
  }
  try {
    if (text === "") {
      mode.blankLine?.(state, 2);
    }
    for (let stuck = 0; !stream.eol();) {
      const style = mode.token(stream, state);
      stuck = stream.pos > stream.start ? 0 : stuck + 1;
      if (stuck > tries) {
        return tokens;
      }
      add(tokens, stream.start, stream.pos, toneOf(style));
      stream.start = Math.max(stream.start, stream.pos);
    }
  } catch {
    return [];
  }
  return tokens;
}

function add(tokens: Token[], from: number, to: number, tone: string): void {
  if (tone !== "" && to > from) {
    tokens.push({ from, to, tone });
  }
}

function toneOf(style: string | null): string {
  for (const word of style?.split(" ") ?? []) {
    const tone = tones[word] ?? tones[word.split(".")[0]!];
    if (tone !== undefined) {
      return tone;
    }
  }
  return "";
}
