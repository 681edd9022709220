import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useSyncExternalStore, type ReactNode } from "react";

import { getInfo, getReadiness, unreached } from "./lib/api";
import { now, useNow } from "./lib/clock";
import { clock } from "./lib/format";
import { setLost, useOld, type Lost } from "./lib/reach";
import { Text } from "./lib/text";
import { useOtherVersion } from "./lib/version";

export const useInfo = () => useQuery({ queryKey: ["info"], queryFn: getInfo, staleTime: 30_000, refetchInterval: 60_000 });

/** What concerns every page: a lost connection, an update, a server that everybody can use, and what it lacks. */
export function Banners(): ReactNode {
  const old = useOld(), other = useOtherVersion(), info = useInfo().data;
  const down = useQuery({ queryKey: ["ready"], queryFn: getReadiness, refetchInterval: 15_000, retry: false }).data?.dependencies.filter((d) => d.name in names && d.state === "down") ?? [];
  useFailures(down.some((d) => d.name === "database"));
  return (
    <div className="banners" role="status">
      {old !== undefined && <Disconnected old={old} />}
      {other !== undefined && <p className="banner">omoi was updated to <Text of={other} />. This page is of the version before. <button className="text" onClick={() => location.reload()}>Reload</button></p>}
      {info?.auth_disabled === true && !loopback(location.hostname) && <p className="banner bad">This server asks for no login, and other machines reach it. Next: enable authentication.</p>}
      {down.map((d) => <p key={d.name} className="banner bad"><b>{names[d.name] ?? d.name}</b> does not work: <Text of={sentence(d.detail ?? "no answer")} /> Tasks continue when it works again.{d.next !== undefined && d.next !== "" && <> Next: <Text of={d.next} /></>}</p>)}
    </div>
  );
}

const names: Record<string, string> = { database: "The database", temporal: "Temporal" };

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

const loopback = (host: string): boolean => host === "localhost" || host === "[::1]" || host.endsWith(".localhost") || /^127(\.\d+){3}$/.test(host);

function Disconnected({ old }: { old: Lost }): ReactNode {
  useNow();
  const rest = Math.ceil((old.nextTry() - performance.now()) / 1000);
  return (
    <p className="banner bad">
      No connection. Showing the state of {clock(now() - (performance.now() - old.since))}, trying again{rest > 0 && <span aria-hidden> in {rest} s</span>}.{" "}
      <button className="text" onClick={old.now}>Try now</button>
    </p>
  );
}

/** Notes when requests do not reach the server, or what it shows is old without its database, and when they succeed again. */
function useFailures(noDatabase: boolean): void {
  const client = useQueryClient(), since = useRef(0);
  const failing = useSyncExternalStore(
    (changed) => client.getQueryCache().subscribe(changed),
    () => client.getQueryCache().getAll().some((q) => q.state.fetchFailureCount > 1 && q.isActive() && unreached(q.state.fetchFailureReason)),
  ) || noDatabase;
  useEffect(() => {
    since.current = failing ? performance.now() : 0;
    setLost("requests", failing ? { since: since.current, nextTry: () => 0, now: () => void client.refetchQueries({ type: "active" }) } : undefined);
    if (!failing) {
      void client.invalidateQueries({ queryKey: ["info"] }); // another version may answer
    }
  }, [failing, client]);
}
