import { useSyncExternalStore } from "react";

let first = "", newest = "";
const readers = new Set<() => void>();

/** Learns the version of the server. The first one that is heard is that of the page, which the same binary holds. */
export function heardVersion(version: string): void {
  if (version !== newest) {
    first ||= version;
    newest = version;
    readers.forEach((reader) => reader());
  }
}

/** The version of the server, if it is another one than that of the page. */
export function useOtherVersion(): string | undefined {
  return useSyncExternalStore((reader) => {
    readers.add(reader);
    return () => readers.delete(reader);
  }, () => (newest === first ? undefined : newest));
}
