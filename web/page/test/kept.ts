import { vi } from "vitest";

/** Gives the page a storage that outlives its modules, as that of a browser outlives a reload. */
export function withStorage(): void {
  const held = new Map<string, string>();
  vi.stubGlobal("window", { sessionStorage: {
    getItem: (name: string) => held.get(name) ?? null, setItem: (name: string, text: string) => held.set(name, text), removeItem: (name: string) => held.delete(name),
  } });
}
