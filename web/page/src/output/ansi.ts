import { look, styleOf, type Look, type Style } from "./colors";

/** A piece of a line in one style. style is undefined for plain text. */
export interface Span { text: string; style: Style | undefined }
export type Line = Span[];

// A whole control sequence: CSI with its parameters and final character, a string such as OSC, or a short escape.
const whole = /\x1b(?:\[([0-?]*)[ -/]*([@-~])|[\]PX^_][^\x00-\x1f\x7f\x9c]*(?:\x07|\x1b\\|\x9c)|[ -/]+[0-~]|[0-OQ-WYZ\\`-~])/y;
// The beginning of a sequence, up to the end of the text.
const half = /\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x00-\x1f\x7f\x9c]*\x1b?|[ -/]*)$/y;
const special = /[\x1b\r\n]/g;
const mostHalf = 65_536; // characters

/**
 * Reads the output of a terminal, in pieces that may end anywhere, as lines. Of its control sequences only colors and the
 * carriage return act: a line that was written again shows its newest state. Others are left out, and text that is not a
 * whole sequence stays text.
 */
export class Ansi {
  readonly lines: Line[] = [[]];
  private look: Look = {};
  private style: Style | undefined;
  private half = "";
  /** A carriage return was read: the next character begins the line again. */
  private returned = false;

  write(text: string): this {
    const all = this.half + text;
    this.half = "";
    for (let at = 0; at < all.length;) {
      special.lastIndex = at;
      const next = special.exec(all)?.index ?? all.length;
      this.add(all.slice(at, next));
      at = next === all.length ? next : this.control(all, next);
    }
    return this;
  }

  /** Takes what is left of a sequence that was never completed as text. */
  end(): Line[] {
    this.add(this.half);
    this.half = "";
    return this.lines;
  }

  /** Reads the control character at a place, and returns the place behind it. */
  private control(all: string, at: number): number {
    const char = all[at];
    if (char === "\n") {
      this.lines.push([]);
      this.returned = false;
      return at + 1;
    }
    if (char === "\r") {
      this.returned = true;
      return at + 1;
    }
    whole.lastIndex = half.lastIndex = at;
    const found = whole.exec(all);
    if (found !== null) {
      if (found[2] === "m" && !/[<=>?]/.test(found[1]!)) {
        this.look = look(this.look, found[1]!);
        this.style = styleOf(this.look);
      }
      return at + found[0].length;
    }
    if (all.length - at <= mostHalf && half.test(all)) {
      this.half = all.slice(at);
      return all.length;
    }
    this.add("\x1b");
    return at + 1;
  }

  private add(text: string): void {
    if (text === "") {
      return;
    }
    let line = this.lines.at(-1)!;
    if (this.returned) {
      line = this.lines[this.lines.length - 1] = [];
      this.returned = false;
    }
    const last = line.at(-1);
    if (last !== undefined && last.style === this.style) {
      last.text += text;
    } else {
      line.push({ text, style: this.style });
    }
  }
}
