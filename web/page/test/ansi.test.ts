import { expect, test } from "vitest";

import { Ansi, type Line } from "../src/output/ansi";
import { contrast, ground, look, styleOf } from "../src/output/colors";
import { random } from "./random";

const read = (...pieces: string[]): Line[] => pieces.reduce((a, piece) => a.write(piece), new Ansi()).end();
const plain = (lines: Line[]): string => lines.map((line) => line.map((s) => s.text).join("")).join("\n");
const spans = (...pieces: string[]): [string, object][] => read(...pieces).flat().map((s) => [s.text, s.style ?? {}]);

test("colors and styles", () => {
  expect(spans("a \x1b[31mred\x1b[0m b")).toEqual([["a ", {}], ["red", { color: "#ff8a80" }], [" b", {}]]);
  expect(spans("\x1b[1;4;9;3mx\x1b[22;24;29;23my")).toEqual([
    ["x", { fontWeight: 600, textDecoration: "underline line-through", fontStyle: "italic" }], ["y", {}]]);
  expect(spans("\x1b[38;5;208mo\x1b[38;2;1;200;3mg\x1b[38:2::250:128:114ms\x1b[39mn")).toEqual([
    ["o", { color: "#ff8700" }], ["g", { color: "#01c803" }], ["s", { color: "#fa8072" }], ["n", {}]]);
  expect(spans("\x1b[41;97mx\x1b[7my\x1b[m z")).toEqual([
    ["x", { color: "#ffffff", backgroundColor: "#7d1f1a" }], ["y", { color: "#99534d", backgroundColor: "#e8e8e4" }], [" z", {}]]);
  expect(spans("\x1b[>4;1mplain\x1b[?25l still\x1b[99m plain")).toEqual([["plain still plain", {}]]);
});

test("a line that is written again shows its newest state", () => {
  expect(plain(read("10 %\r50 %\r", "100 %\r\nnext\r\n"))).toBe("100 %\nnext\n");
  expect(plain(read("kept\r"))).toBe("kept");
  expect(spans("\x1b[32mold\r", "new")).toEqual([["new", { color: "#7ccf92" }]]);
});

test("titles, clipboard, links and cursor movement are left out", () => {
  expect(plain(read("a\x1b]0;title\x07b\x1b]52;c;aGk=\x1b\\c\x1b]8;;http://x.test\x1b\\link\x1b]8;;\x1b\\d"))).toBe("abclinkd");
  expect(plain(read("a\x1b[2J\x1b[10;3Hb\x1b[1A\x1b[Kc\x1b7\x1b(Bd\x1bcx\x1bP1$r0m\x1b\\e"))).toBe("abcdxe");
});

test("what is not a whole sequence stays text", () => {
  expect(plain(read("a\x1b[31é b\x1b"))).toBe("a\x1b[31é b\x1b");
  expect(plain(read("\x1b]0;never ended\nnext line"))).toBe("\x1b]0;never ended\nnext line");
  expect(plain(read("\x1b[3", "1"))).toBe("\x1b[31");
  expect(plain(read("\x1b]52;" + "x".repeat(70_000)))).toHaveLength(70_005);
});

test("a text gives the same lines in every split", () => {
  const text = "a\x1b[1;31mred\x1b[0m\r\n10 %\r20 %\x1b]8;;http://x.test\x1b\\l\x1b]8;;\x07\r\n\x1b[38;5;99mé😀\x1b(Bz\x1b[";
  for (let at = 0; at <= text.length; at++) {
    for (const to of [at, at + 1, text.length]) {
      expect(read(text.slice(0, at), text.slice(at, to), text.slice(to))).toEqual(read(text));
    }
  }
});

test("random bytes never throw, and no character of plain text is lost", () => {
  const next = random(11), pieces = ["\x1b", "\x1b[", "\x1b]", "m", "38;5;", "7", ";", ":", "\r", "\n", "\x07", "\x1b\\", "\x9c", "text", "é", "\u202e", " "];
  for (let round = 0; round < 3000; round++) {
    const given = Array.from({ length: Math.floor(next() * 30) }, () => pieces[Math.floor(next() * pieces.length)]!);
    const split = Math.floor(next() * (given.length + 1));
    const whole = plain(read(given.join("")));
    expect(plain(read(given.slice(0, split).join(""), given.slice(split).join("")))).toBe(whole);
    const text = given.join("").replaceAll("\x1b", "").replaceAll("\r", "");
    expect(plain(read(text))).toBe(text);
  }
});

test("every color can be read on its ground", () => {
  const worst = (parameters: string): number => {
    const style = styleOf(look({}, parameters)), color = (c: unknown) => parseInt(String(c).slice(1), 16);
    return contrast(style?.color === undefined ? 0xd8d8d4 : color(style.color), style?.backgroundColor === undefined ? ground : color(style.backgroundColor));
  };
  const next = random(5), byte = () => Math.floor(next() * 256);
  const all = [
    ...Array.from({ length: 256 }, (_, n) => `38;5;${n}`), ...Array.from({ length: 256 }, (_, n) => `48;5;${n}`), ...Array.from({ length: 256 }, (_, n) => `2;7;38;5;${n}`),
    ...Array.from({ length: 500 }, () => `38;2;${byte()};${byte()};${byte()};48;2;${byte()};${byte()};${byte()}`),
  ];
  all.forEach((p) => expect(worst(p), p).toBeGreaterThanOrEqual(4.5));
});
