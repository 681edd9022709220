import { useNavigate, useSearch } from "@tanstack/react-router";

import { useKeys } from "../lib/keyboard";
import { neighbor } from "./tree";
import type { Changes, FileChange } from "./types";

interface Place {
  changes: Changes;
  file: FileChange;
  /** Rows at which changes begin. */
  starts: number[];
  count: number;
  /** The row on which keys act; -1: none. */
  at: number;
  go: (row: number) => void;
  comment: (() => void) | undefined;
}

/** n and p: next and previous change, into the next file too. j and k: next and previous line. Enter: comment on the line. */
export function useDiffKeys({ changes, file, starts, count, at, go, comment }: Place): void {
  const navigate = useNavigate(), search = useSearch({ from: "/tasks/$id/changes" });
  const open = (step: 1 | -1): void => {
    const other = neighbor(changes.files, file.path, step);
    if (other !== undefined) {
      void navigate({ to: ".", search: { ...search, path: other.path } });
    }
  };
  const keys: Record<string, () => void> = {
    n: () => jump(starts.find((s) => s > at), go, () => open(1)),
    p: () => jump(starts.findLast((s) => s < at), go, () => open(-1)),
    j: () => go(Math.min(count - 1, at + 1)),
    k: () => go(Math.max(0, at - 1)),
  };
  useKeys((event) => {
    if (event.key === "Enter" && at >= 0 && comment !== undefined && (event.target as HTMLElement).closest("a, button") === null) {
      event.preventDefault();
      comment();
    }
    if (Object.hasOwn(keys, event.key)) {
      keys[event.key]!();
    }
  });
}

function jump(to: number | undefined, go: (row: number) => void, otherwise: () => void): void {
  if (to === undefined) {
    otherwise();
  } else {
    go(to);
  }
}
