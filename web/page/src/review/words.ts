import { bytes, grouped } from "../lib/format";
import type { FileChange } from "./types";

const verbs: Record<string, string> = { added: "Added", modified: "Changed", deleted: "Deleted", renamed: "Renamed", type_changed: "Type changed" };
const signs: Record<string, string> = { added: "A", modified: "M", deleted: "D", renamed: "R", type_changed: "T" };
const kinds: Record<string, string> = { "100644": "file", "100755": "executable file", "120000": "symbolic link", "160000": "submodule" };

/** What happened to a file in one word. A status that the page does not know is shown as it is. */
export const verbOf = (status: string): string => verbs[status] ?? status.replaceAll("_", " ");
export const signOf = (status: string): string => signs[status] ?? "?";

/** What lines cannot show of a change, one sentence each. */
export function notesOf(file: FileChange): string[] {
  return [modes(file), content(file)].filter((note) => note !== "");
}

function modes({ status, old_mode: old, new_mode: fresh }: FileChange): string {
  const kind = kinds[fresh] ?? `mode ${fresh}`;
  if (status === "added") {
    return fresh === "100644" ? "" : `New ${kind}.`;
  }
  if (status === "deleted" || old === fresh) {
    return fresh === "120000" ? "A symbolic link: the line is its target." : "";
  }
  if (old === "100644" && fresh === "100755") {
    return "The file is now executable (mode 100755).";
  }
  return old === "100755" && fresh === "100644" ? "The file is no longer executable (mode 100644)." : `Was a ${kinds[old] ?? `mode ${old}`}, is a ${kind} now.`;
}

function content(file: FileChange): string {
  if (file.submodule) {
    return `Submodule: ${commit(file.old_object)} → ${commit(file.new_object)}.`;
  }
  if (file.binary) {
    return `Binary file: ${size(file.old_bytes)} → ${size(file.new_bytes)}.`;
  }
  if (file.old_object === file.new_object) {
    return "The content is the same.";
  }
  return file.additions === 0 && file.deletions === 0 && file.status !== "modified" ? "The file is empty." : "";
}

const size = (n: number | null): string => (n === null ? "none" : bytes(n));
const commit = (id: string): string => (/^0*$/.test(id) ? "none" : `commit ${id.slice(0, 10)}`);

/** Added and removed lines, where the server counted them. */
export function counts(of: { additions: number | null; deletions: number | null }): string {
  return of.additions === null || of.deletions === null ? "" : `+${grouped(of.additions)} −${grouped(of.deletions)}`;
}
