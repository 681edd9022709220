import { useMemo, useRef, useState, type ReactNode } from "react";

import { Copy } from "../lib/copy";
import { useKeys } from "../lib/keyboard";
import { useMay } from "../lib/session";
import type { TaskEvents } from "../stream/events";
import { useOutline } from "../stream/still";
import type { AttemptLog } from "../stream/store";
import type { ListHandle } from "../timeline/list";
import { commandsOf, placeOf } from "./commands";
import { Find } from "./find";
import { Commands } from "./list";
import { LogOf } from "./log-view";
import { useSearchIn } from "./search";

interface Props { events: TaskEvents; log: AttemptLog; version: number; running: boolean; sandbox: string | undefined }

/** What the commands of an attempt printed, and the log of its sandbox. */
export default function Output(props: Props): ReactNode {
  const [of, setOf] = useState<"commands" | "log">("commands"), [wrap, setWrap] = useState(true);
  const { sandbox, running } = props;
  useKeys((event) => event.key === "w" && setWrap(!wrap));
  if (sandbox === undefined) {
    return <p className="empty muted">No sandbox yet.</p>;
  }
  const bar = (
    <span className="chips" role="group" aria-label="Output of">
      <button className="chip" aria-pressed={of === "commands"} onClick={() => setOf("commands")}>Commands</button>
      <button className="chip" aria-pressed={of === "log"} onClick={() => setOf("log")}>Sandbox log</button>
      <button className="chip" aria-pressed={wrap} title="Key: w" onClick={() => setWrap(!wrap)}>Wrap lines</button>
    </span>
  );
  return (
    <div className={`output${wrap ? "" : " unwrapped"}`}>
      {of === "commands" ? <OfCommands key={sandbox} {...props} sandbox={sandbox} bar={bar} /> : <LogOf key={sandbox} sandbox={sandbox} bar={bar} />}
      {running && <Shell sandbox={sandbox} />}
    </div>
  );
}

function OfCommands({ events, log, version, running, sandbox, bar }: Props & { sandbox: string; bar: ReactNode }): ReactNode {
  const handle = useRef<ListHandle>(null), [find, setFind] = useState("");
  const commands = useMemo(() => commandsOf(log, log.head), [log, version]);
  const { found, problem } = useSearchIn(sandbox, find), place = (n: number): number => placeOf(commands, n);
  const places = (numbers: Iterable<number>): number[] => [...new Set([...numbers].map(place))].filter((p) => p >= 0).sort((a, b) => a - b);
  useOutline(events, log, version);
  return (
    <>
      <div className="spread output-bar">
        {bar}
        <Find find={find} setFind={setFind} hits={found && places(found)} problem={problem} errors={places(log.failures)} reveal={(p) => handle.current?.reveal(p)} />
      </div>
      <Commands events={events} log={log} commands={commands} running={running} find={find} handle={handle} />
    </>
  );
}

/** The command that opens a shell in the sandbox, to copy: the page runs none itself. */
function Shell({ sandbox }: { sandbox: string }): ReactNode {
  const command = `omoi sandbox shell ${sandbox}`, may = useMay("admin");
  if (!may) {
    return null;
  }
  return (
    <p className="spread small shell">
      <span className="muted">Open a shell in the sandbox:</span><code>{command}</code>
      <Copy of={command} />
    </p>
  );
}
