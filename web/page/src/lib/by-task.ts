import { useSyncExternalStore } from "react";

/** Values of this tab, one for each task, which load reads and save keeps over a reload. All components that use a value see each change. */
export function byTask<T>(load: (task: string) => T, save: (task: string, value: T) => void) {
  const values = new Map<string, T>(), readers = new Set<() => void>();
  const of = (task: string): T => {
    if (!values.has(task)) {
      values.set(task, load(task));
    }
    return values.get(task)!;
  };
  const subscribe = (changed: () => void) => {
    readers.add(changed);
    return () => readers.delete(changed);
  };
  return {
    of,
    set: (task: string, value: T): void => {
      values.set(task, value);
      save(task, value);
      readers.forEach((reader) => reader());
    },
    use: (task: string): T => useSyncExternalStore(subscribe, () => of(task), () => of(task)),
  };
}
