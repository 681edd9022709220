import { useEffect, useMemo, useRef, useState, useSyncExternalStore, type ReactNode } from "react";

import { said } from "../lib/api";
import { bytes, grouped } from "../lib/format";
import { Text } from "../lib/text";
import { List, type ListHandle } from "../timeline/list";
import { download } from "./download";
import { Find } from "./find";
import { LineOf, plainOf } from "./line";
import { SandboxLog, wholeLog } from "./log";

const error = /\b(error|fatal|panic|failed|exception)\b/i;

/** The log of a sandbox: what the agent and its setup step printed. */
export function LogOf({ sandbox, bar }: { sandbox: string; bar: ReactNode }): ReactNode {
  const [log] = useState(() => new SandboxLog(sandbox)), version = useSyncExternalStore(log.subscribe, log.snapshot);
  const [find, setFind] = useState(""), [follow, setFollow] = useState(true), [trouble, setTrouble] = useState("");
  const handle = useRef<ListHandle>(null), lines = log.ansi.lines, ended = log.state === "ended";
  useEffect(() => {
    log.start();
    return () => log.stop();
  }, [log]);
  const count = lines.at(-1)!.length === 0 ? lines.length - 1 : lines.length;
  const { hits, errors } = useMemo(() => {
    const places = (holds: (text: string) => boolean): number[] => lines.flatMap((line, n) => (holds(plainOf(line)) ? [n] : []));
    return { hits: find === "" ? [] : places((t) => t.toLowerCase().includes(find)), errors: places((t) => error.test(t)) };
  }, [lines, version, find]);
  return (
    <>
      <div className="spread output-bar">
        {bar}
        <Find find={find} setFind={setFind} hits={hits} errors={errors} reveal={(n) => handle.current?.reveal(n)} />
        <button onClick={() => void wholeLog(sandbox).then((text) => download(`${sandbox}.log`, text), (e: unknown) => setTrouble(said(e)))}>Download</button>
      </div>
      {(log.problem || trouble) !== "" && <p className="notice bad small" role="alert"><Text of={log.problem || trouble} /></p>}
      {log.missing > 0 && <p className="bar small">The first {bytes(log.missing)} are no longer kept.</p>}
      {log.dropped > 0 && <p className="bar small">The page shows the newest lines; {grouped(log.dropped)} earlier ones are in the download.</p>}
      {count === 0
        ? <p className="empty muted">{log.state === "loading" ? "Loading…" : log.state === "refused" ? "No log." : "The log is empty so far."}</p>
        : <div className="terminal whole"><List count={count} label="Log of the sandbox" row={(n) => <LineOf of={lines[n]!} find={find} />} follow={follow} onFollow={setFollow} handle={handle} /></div>}
      <p className="small muted" data-log={log.state}>{ended ? "The log is complete." : log.stale ? "The sandbox does not answer: newer output may exist." : log.state === "live" ? "Waits for more." : ""}</p>
    </>
  );
}
