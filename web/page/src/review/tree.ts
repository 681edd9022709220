import type { FileChange } from "./types";

/** A row of the tree: a folder, or a file in it. */
export interface TreeRow { depth: number; name: string; path: string; file?: FileChange }

interface Folder { folders: Map<string, Folder>; files: FileChange[] }

const empty = (): Folder => ({ folders: new Map(), files: [] });

/** The files below their folders, folders first. A folder that holds only one folder is one row with it. */
export function treeRows(files: FileChange[], closed: ReadonlySet<string>): TreeRow[] {
  const root = empty();
  for (const file of files) {
    let at = root;
    for (const name of file.path.split("/").slice(0, -1)) {
      at.folders.set(name, at.folders.get(name) ?? empty());
      at = at.folders.get(name)!;
    }
    at.files.push(file);
  }
  return rowsIn(root, "", 0, closed);
}

function rowsIn(folder: Folder, prefix: string, depth: number, closed: ReadonlySet<string>): TreeRow[] {
  const rows: TreeRow[] = [];
  for (let [name, inner] of folder.folders) {
    while (inner.files.length === 0 && inner.folders.size === 1) {
      const [next, only] = [...inner.folders][0]!;
      [name, inner] = [`${name}/${next}`, only];
    }
    const path = `${prefix}${name}`;
    rows.push({ depth, name, path });
    if (!closed.has(path)) {
      rows.push(...rowsIn(inner, `${path}/`, depth + 1, closed));
    }
  }
  return [...rows, ...folder.files.map((file) => ({ depth, name: file.path.slice(prefix.length), path: file.path, file }))];
}

/** The files whose path has a text in it, in any case. */
export function filtered(files: FileChange[], text: string): FileChange[] {
  const wanted = text.trim().toLowerCase();
  return wanted === "" ? files : files.filter((f) => `${f.path}\n${f.old_path ?? ""}`.toLowerCase().includes(wanted));
}

/** The file before (-1) or after (1) another one, in the order of the tree. */
export function neighbor(files: FileChange[], path: string, step: 1 | -1): FileChange | undefined {
  const order = treeRows(files, new Set()).flatMap((row) => (row.file === undefined ? [] : [row.file]));
  const at = order.findIndex((f) => f.path === path);
  return at < 0 ? undefined : order[at + step];
}
