import type { Mode } from "./highlight";

type Load = () => Promise<Mode>;

const clike = (name: "c" | "cpp" | "csharp" | "dart" | "java" | "kotlin" | "objectiveC" | "scala"): Load => async () => (await import("@codemirror/legacy-modes/mode/clike"))[name] as Mode;
const css = (name: "css" | "less" | "sCSS"): Load => async () => (await import("@codemirror/legacy-modes/mode/css"))[name] as Mode;
const script = (name: "javascript" | "json" | "typescript"): Load => async () => (await import("@codemirror/legacy-modes/mode/javascript"))[name] as Mode;
const xml = (name: "html" | "xml"): Load => async () => (await import("@codemirror/legacy-modes/mode/xml"))[name] as Mode;

/** Languages by the end of a file's name. Each is loaded when a file of it is shown. */
const byEnd: Record<string, Load> = {
  c: clike("c"), h: clike("cpp"), cc: clike("cpp"), cpp: clike("cpp"), cxx: clike("cpp"), hpp: clike("cpp"), cs: clike("csharp"), dart: clike("dart"),
  java: clike("java"), kt: clike("kotlin"), kts: clike("kotlin"), m: clike("objectiveC"), scala: clike("scala"),
  css: css("css"), less: css("less"), scss: css("sCSS"),
  js: script("javascript"), cjs: script("javascript"), mjs: script("javascript"), jsx: script("javascript"), ts: script("typescript"), mts: script("typescript"), tsx: script("typescript"), json: script("json"),
  html: xml("html"), htm: xml("html"), svg: xml("xml"), vue: xml("html"), xml: xml("xml"),
  go: async () => (await import("@codemirror/legacy-modes/mode/go")).go as Mode,
  hs: async () => (await import("@codemirror/legacy-modes/mode/haskell")).haskell as Mode,
  lua: async () => (await import("@codemirror/legacy-modes/mode/lua")).lua as Mode,
  pl: async () => (await import("@codemirror/legacy-modes/mode/perl")).perl as Mode,
  proto: async () => (await import("@codemirror/legacy-modes/mode/protobuf")).protobuf as Mode,
  py: async () => (await import("@codemirror/legacy-modes/mode/python")).python as Mode,
  rb: async () => (await import("@codemirror/legacy-modes/mode/ruby")).ruby as Mode,
  rs: async () => (await import("@codemirror/legacy-modes/mode/rust")).rust as Mode,
  sh: async () => (await import("@codemirror/legacy-modes/mode/shell")).shell as Mode,
  sql: async () => (await import("@codemirror/legacy-modes/mode/sql")).pgSQL as Mode,
  swift: async () => (await import("@codemirror/legacy-modes/mode/swift")).swift as Mode,
  toml: async () => (await import("@codemirror/legacy-modes/mode/toml")).toml as Mode,
  yaml: async () => (await import("@codemirror/legacy-modes/mode/yaml")).yaml as Mode,
  dockerfile: async () => (await import("@codemirror/legacy-modes/mode/dockerfile")).dockerFile as Mode,
};

const other: Record<string, string> = { bash: "sh", zsh: "sh", yml: "yaml", gradle: "java", mod: "go" };

/** Loads the language of a file; undefined: it has none here. */
export function modeOf(path: string): Promise<Mode | undefined> {
  const name = path.split("/").at(-1)!.toLowerCase(), end = name.split(".").at(-1)!;
  const key = other[end] ?? end;
  return Object.hasOwn(byEnd, key) ? byEnd[key]!() : Promise.resolve(undefined);
}
