import { keep, recallList } from "../lib/kept";

/** What this browser has shown of the files of a task: the ID of the content by path. */
interface Looked { task: string; files: Record<string, string> }

const kept = "omoi.looked", most = 20; // tasks

const all = (): Looked[] => recallList("localStorage", kept);

export const lookedAt = (task: string): Readonly<Record<string, string>> => all().find((l) => l.task === task)?.files ?? {};

/** Remembers the content of a file that was shown. */
export function look(task: string, path: string, content: string): void {
  const files = { ...lookedAt(task), [path]: content.slice(0, 16) };
  keep("localStorage", kept, JSON.stringify([{ task, files }, ...all().filter((l) => l.task !== task)].slice(0, most)));
}
