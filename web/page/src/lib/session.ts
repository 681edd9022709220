import { useQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";

import { api, unwrap } from "./api";
import { forget } from "./kept";

let out = false;
const readers = new Set<() => void>();

function set(to: boolean): void {
  if (out !== to) {
    out = to;
    readers.forEach((reader) => reader());
  }
}

/** Learns from an answer that the server wants a login. */
export const refused = (): void => set(true);

/** Calls a reader when the login is asked for, or given. */
export function onSession(reader: () => void): () => void {
  readers.add(reader);
  return () => readers.delete(reader);
}

export const isOut = (): boolean => out;
export const useOut = (): boolean => useSyncExternalStore(onSession, isOut);

/** Exchanges an API key for the cookie of a session, which no script can read. */
export async function signIn(key: string): Promise<void> {
  await unwrap(api.POST("/api/v1/session", { body: { key } }));
  set(false);
}

/** Ends the session, and forgets drafts, receipts and answers of its user. */
export async function signOut(): Promise<void> {
  await unwrap(api.DELETE("/api/v1/session"));
  forget();
  location.reload();
}

export const useSession = () => useQuery({ queryKey: ["session"], queryFn: () => unwrap(api.GET("/api/v1/session")), staleTime: 60_000 }).data;

/** Whether the server would refuse the caller for lack of this scope. */
export function useMay(scope: "read" | "write" | "admin"): boolean {
  return useSession()?.scopes.includes(scope) ?? false;
}
