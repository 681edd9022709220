import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "vitest";

import { hasCRLF, isIn, linesOf, type Line } from "../src/review/diff";
import { Highlighter } from "../src/review/highlight";
import { changedParts } from "../src/review/marks";
import { modeOf } from "../src/review/modes";
import { changesIn, rowOf, rowsOf } from "../src/review/rows";
import { changesSearch, fromServer, toServer } from "../src/review/search";
import { segmentsOf } from "../src/review/segments";
import { filtered, neighbor, treeRows } from "../src/review/tree";
import type { FileChange, Hunk } from "../src/review/types";
import { notesOf } from "../src/review/words";
import { random } from "./random";

/** The hunks of what git says of two texts, in the form of the API. */
function hunksOf(old: string, fresh: string, context = 3): Hunk[] {
  const folder = mkdtempSync(join(tmpdir(), "omoi-diff-"));
  try {
    writeFileSync(join(folder, "old"), old);
    writeFileSync(join(folder, "new"), fresh);
    const shell = `git diff --no-index --no-color -U${context} old new || true`;
    return read(execFileSync("sh", ["-c", shell], { cwd: folder, encoding: "utf8" }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function read(diff: string): Hunk[] {
  const hunks: Hunk[] = [];
  for (const line of diff.replace(/\n$/, "").split("\n")) {
    const head = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/.exec(line);
    if (head !== null) {
      hunks.push({ old_start: Number(head[1]), old_lines: Number(head[2] ?? 1), new_start: Number(head[3]), new_lines: Number(head[4] ?? 1), section: head[5]!, lines: [], cut: [] });
    } else {
      hunks.at(-1)?.lines.push(line);
    }
  }
  return hunks;
}

/** Rows as text: what stands at the left, and at the right. */
function drawn(lines: Line[], split: boolean): string {
  const one = (line: Line | undefined): string => (line === undefined ? "" : `${String(line.old || "").padStart(3)} ${String(line.new || "").padStart(3)} ${line.kind}${line.text.replaceAll("\r", "␍")}`);
  return `${rowsOf(lines, split).map((r) => (split ? `${one(r.left?.line).padEnd(40)}│${one(r.right?.line)}` : one(r.left?.line)).trimEnd()).join("\n")}\n`;
}

const ten = Array.from({ length: 10 }, (_, n) => `line ${n + 1}\n`).join("");
const cases: Record<string, [string, string]> = {
  edit: ["package main\n\nfunc main() {\n\tprintln(\"hi\")\n}\n", "package main\n\nfunc main() {\n\tlimit := 30\n\tprintln(limit)\n}\n"],
  "two-hunks": [ten.repeat(3), ten.repeat(3).replace("line 2\n", "line two\n").replace(/line 9\nline 10\n$/, "line 10\nmore\n")],
  added: ["", "one\ntwo\n"],
  deleted: ["one\n", ""],
  "no-newline": ["one\ntwo", "one\ntwo\nthree"],
  crlf: ["one\r\ntwo\r\n", "one\r\n2\r\n"],
  "crlf-lost": ["one\r\ntwo\r\n", "one\ntwo\n"],
  "like-heads": ["-- a/x\n++ b/x\n@@ -1 +1 @@\n", "-- a/y\n++ b/y\n@@ -1 +1 @@\n"],
};

test.each(Object.keys(cases))("rows of git's diff: %s", async (name) => {
  const lines = linesOf(hunksOf(...cases[name]!));
  await expect(drawn(lines, false)).toMatchFileSnapshot(`golden/diff-${name}.txt`);
  await expect(drawn(lines, true)).toMatchFileSnapshot(`golden/diff-${name}-split.txt`);
});

test("a hunk that continues on the next page has no head of its own, and the numbers go on", () => {
  const [whole] = hunksOf("", ten), lines = linesOf([whole!]);
  const first: Hunk = { ...whole!, new_lines: 4, lines: whole!.lines.slice(0, 4) }, second: Hunk = { ...whole!, new_start: 5, new_lines: 6, lines: whole!.lines.slice(4) };
  expect(linesOf([first, second]).slice(1)).toEqual(lines.slice(1));
  expect(linesOf([first, { ...second, new_start: 6 }]).filter((l) => l.kind === "@").length).toBe(2);
});

const alphabet = ["a", " ", "\t", "\r", "\\", "+", "-", "@", "\"", "'", "`", "/*", "*/", "//", "{", "}", "\u202e", "\u2028", "\u0000", "\ud83d\ude00", "\ud83d", "é", "\ufffd", "<", "func"];

function randomText(next: () => number, most: number): string {
  return Array.from({ length: Math.floor(next() * most) }, () => alphabet[Math.floor(next() * alphabet.length)]).join("");
}

function randomHunks(next: () => number): Hunk[] {
  const some = (): number => Math.floor(next() * 50) - 2;
  return Array.from({ length: Math.floor(next() * 4) }, () => ({
    old_start: some(), old_lines: some(), new_start: some(), new_lines: some(), section: randomText(next, 5),
    lines: Array.from({ length: Math.floor(next() * 30) }, () => [" ", "+", "-", "\\", ""][Math.floor(next() * 5)] + randomText(next, 12)),
    cut: next() < 0.3 ? [{ line: some(), bytes: 1e6 }] : [],
  }));
}

test("random hunks: no line is lost or doubled, unified and split", () => {
  const next = random(7);
  for (let step = 0; step < 500; step++) {
    const hunks = randomHunks(next), lines = linesOf(hunks);
    const wanted = hunks.flatMap((h) => h.lines.map((raw) => (/^[-+ \\]/.test(raw) ? raw : ` ${raw}`)));
    expect(lines.filter((l) => l.kind !== "@").map((l) => l.kind + l.text)).toEqual(wanted);
    expect(rowsOf(lines, false).map((r) => r.left?.at)).toEqual(lines.map((_, n) => n));
    const split = rowsOf(lines, true), at = (side: "left" | "right"): number[] => split.flatMap((r) => (r[side] === undefined ? [] : [r[side].at]));
    expect([...new Set([...at("left"), ...at("right")])].sort((a, b) => a - b)).toEqual(lines.map((_, n) => n));
    expect(at("left")).toEqual(at("left").toSorted((a, b) => a - b));
    expect(at("right")).toEqual(at("right").toSorted((a, b) => a - b));
    expect(new Set(at("left")).size).toBe(at("left").length);
    lines.forEach((line) => isIn(line) && (line.old > 0 || line.new > 0) && expect(rowOf(split, line)).toBeGreaterThanOrEqual(0));
    expect(changesIn(split).length).toBe(changesIn(rowsOf(lines, false)).length);
    hasCRLF(lines);
  }
});

test("marks: what is not marked is the same on both sides, and no character is cut in two", () => {
  const next = random(3), without = (text: string, marks: { from: number; to: number }[]): string => marks.reduceRight((t, m) => t.slice(0, m.from) + t.slice(m.to), text);
  let marked = 0;
  for (let step = 0; step < 2000; step++) {
    const old = randomText(next, 20), cut = Math.floor(next() * old.length), fresh = old.slice(0, cut) + randomText(next, 4) + old.slice(cut + Math.floor(next() * 4));
    const [a, b] = changedParts(old, fresh);
    if (a.length + b.length > 0) {
      marked++;
      expect(without(old, a)).toBe(without(fresh, b));
      for (const [text, marks] of [[old, a], [fresh, b]] as const) {
        marks.forEach((m) => [m.from, m.to].forEach((p) => expect(/[\ud800-\udbff]/.test(text[p - 1] ?? "") && /[\udc00-\udfff]/.test(text[p] ?? "")).toBe(false)));
      }
    }
  }
  expect(marked).toBeGreaterThan(1000);
  expect(changedParts("println(\"hi\")", "println(limit)")).toEqual([[{ from: 8, to: 12 }], [{ from: 8, to: 13 }]]);
  expect(changedParts("a", "b")).toEqual([[], []]);
  expect(changedParts("const most = 1024", "const most = 10 * 1024")).toEqual([[], [{ from: 13, to: 18 }]]); // whole words
  expect(changedParts("return limit1", "return limit2")).toEqual([[{ from: 7, to: 13 }], [{ from: 7, to: 13 }]]);
});

const languages = ["a.go", "a.ts", "a.tsx", "a.py", "a.rs", "a.c", "a.java", "a.rb", "a.sh", "a.yml", "a.toml", "a.css", "a.html", "a.sql", "a.json", "a.lua", "a.pl", "a.proto", "a.swift", "a.hs", "Dockerfile"];

test.each(languages)("tokens of random lines are in order and inside: %s", async (path) => {
  const next = random(11), mode = (await modeOf(path))!;
  for (let step = 0; step < 30; step++) {
    const lines = linesOf([{ old_start: 1, old_lines: 1, new_start: 1, new_lines: 1, section: "", cut: [], lines: Array.from({ length: 40 }, () => " +-"[Math.floor(next() * 3)] + randomText(next, 30)) }]);
    const highlighter = new Highlighter(mode, lines);
    for (let look = 0; look < 20; look++) {
      const n = Math.floor(next() * lines.length), { text } = lines[n]!, tokens = highlighter.tokens(n), marks = [{ from: 1, to: 3 }];
      tokens.forEach((t, m) => expect(t.from >= (tokens[m - 1]?.to ?? 0) && t.to > t.from && t.to <= text.length, JSON.stringify([text, tokens])).toBe(true));
      expect(segmentsOf(text, tokens, marks).map((s) => s.text).join("")).toBe(text);
    }
  }
});

test("a removed line is read as if it followed the unchanged line before it", async () => {
  const lines = linesOf([{ old_start: 1, old_lines: 3, new_start: 1, new_lines: 3, section: "", cut: [], lines: [" /* begins", "-removed */", "+added", " still a comment */ x := 1"] }]);
  const highlighter = new Highlighter((await modeOf("x.go"))!, lines), tones = (n: number) => highlighter.tokens(n).map((t) => t.tone);
  expect([tones(1), tones(2), tones(3)]).toEqual([["c"], ["c"], ["c"]]);
  expect(highlighter.tokens(4)[0]).toMatchObject({ from: 0, tone: "c" });
});

test("a line far down is read at once, and a language without a mode has none", async () => {
  const many = linesOf([{ old_start: 1, old_lines: 0, new_start: 1, new_lines: 50_000, section: "", cut: [], lines: Array<string>(50_000).fill("+x := \"text\" // comment") }]);
  const highlighter = new Highlighter((await modeOf("x.go"))!, many);
  expect(highlighter.tokens(49_000).map((t) => t.tone)).toEqual(["s", "c"]);
  expect(highlighter["read"].size).toBeLessThan(500);
  expect(await modeOf("x.unknown")).toBeUndefined();
  expect(await modeOf("constructor")).toBeUndefined();
});

const change = (path: string, more: Partial<FileChange> = {}): FileChange => ({ path, old_path: null, status: "modified", additions: 1, deletions: 1, binary: false, submodule: false, old_mode: "100644", new_mode: "100644", old_object: "a1", new_object: "b2", old_bytes: 1, new_bytes: 1, ...more });

test("the tree has each file once, below its folders", () => {
  const files = ["README.md", "a/b/c/x.go", "a/b/c/y.go", "a/b/z.go", "e/<img src=x>.md", "e//odd", "__proto__/x"].map((p) => change(p));
  const rows = treeRows(files, new Set());
  expect(rows.map((r) => `${"  ".repeat(r.depth)}${r.name}${r.file === undefined ? "/" : ""}`)).toEqual(
    ["a/b/", "  c/", "    x.go", "    y.go", "  z.go", "e/", "  /", "    odd", "  <img src=x>.md", "__proto__/", "  x", "README.md"]);
  expect(treeRows(files, new Set(["a/b"])).map((r) => r.path)).not.toContain("a/b/c/x.go");
  expect(filtered(files, " X.GO ").map((f) => f.path)).toEqual(["a/b/c/x.go"]);
  expect(neighbor(files, "a/b/c/y.go", 1)?.path).toBe("a/b/z.go");
  expect(neighbor(files, "README.md", 1)).toBeUndefined();
  expect(neighbor(files, "gone", 1)).toBeUndefined();
});

test("what lines cannot show is said in words", () => {
  expect(notesOf(change("x", { old_mode: "100644", new_mode: "100755", old_object: "a", new_object: "a", additions: 0, deletions: 0 }))).toEqual(["The file is now executable (mode 100755).", "The content is the same."]);
  expect(notesOf(change("x", { status: "renamed", old_path: "y", old_object: "a", new_object: "a", additions: 0, deletions: 0 }))).toEqual(["The content is the same."]);
  expect(notesOf(change("x", { binary: true, additions: null, deletions: null, old_bytes: null, new_bytes: 2048 }))).toEqual(["Binary file: none → 2.0 KiB."]);
  expect(notesOf(change("x", { submodule: true, status: "added", old_mode: "", new_mode: "160000", additions: null, deletions: null, old_object: "0000", new_object: "abcdef0123456789" }))).toEqual(["New submodule.", "Submodule: none → commit abcdef0123."]);
  expect(notesOf(change("x", { status: "added", old_mode: "", additions: 0, deletions: 0 }))).toEqual(["The file is empty."]);
  expect(notesOf(change("x", { status: "type_changed", new_mode: "120000" }))).toEqual(["Was a file, is a symbolic link now."]);
  expect(notesOf(change("x"))).toEqual([]);
});

test("the address keeps each point as it is, and drops what it does not know", () => {
  for (const point of ["base", "latest", "2", "2.10", "12.7"]) {
    expect(toServer(fromServer(point))).toBe(point);
    expect(changesSearch({ to: fromServer(point) })).toEqual(point === "latest" ? {} : { to: fromServer(point) });
  }
  expect(changesSearch({ from: "base", to: 2.1, path: 7, split: "yes", context: 1e9, whitespace: "no", tab: "x" })).toEqual({ path: "7" });
  expect(changesSearch({ path: "a", split: false, context: 23, whitespace: "ignore", tab: "tests" })).toEqual({ path: "a", split: false, context: 23, whitespace: "ignore", tab: "tests" });
});
