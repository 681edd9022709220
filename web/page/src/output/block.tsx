import { useState, type ReactNode } from "react";

import type { Event } from "../lib/api";
import { now, useNow } from "../lib/clock";
import { bytes, clock, cutMiddle, date, duration } from "../lib/format";
import { Text } from "../lib/text";
import { lacking, sizeOf, Whole } from "../timeline/whole";
import { lineOf, resultOf, type Result } from "./commands";
import { download } from "./download";
import { Screen } from "./screen";

interface Props {
  start: Event;
  ends: Event[];
  /** The time of the moment that is shown; undefined: now. */
  at?: number;
  running: boolean;
  find: string;
}

/** A command of the agent with its output. */
export function Block({ start, ends, at, running, find }: Props): ReactNode {
  const [all, setAll] = useState(false), events = [start, ...ends], lacks = events.flatMap(lacking);
  const result = resultOf(start, ends), line = lineOf(start), isSetup = start.event_type === "agent.setup_started";
  const draw = (of: Result | undefined, whole: boolean): ReactNode => of !== undefined && <Printed of={of} whole={whole} name={`${start.sandbox_id}-${start.sequence}.txt`} line={line} find={find} />;
  return (
    <section className="command" data-failed={result?.failed} aria-label={`Command ${cutMiddle(line, 60)}`}>
      <header>
        <time dateTime={start.created_at} title={`${date(start.created_at)} · event ${start.sequence}`}>{clock(start.created_at)}</time>
        <code className="grow"><span className="muted">{isSetup ? "setup $ " : "$ "}</span><Text of={cutMiddle(line, 4000)} /></code>
        <span className="meta">{result === undefined ? <Unended since={start.created_at} at={at} running={running} /> : <End of={result} />}</span>
      </header>
      {all && lacks.length > 0 ? <Whole of={events} draw={(event, rest) => draw(resultOf(event, rest), true)} /> : draw(result, lacks.length === 0)}
      {lacks.length > 0 && !all && <p className="bar">The beginning of the output. <button className="text" onClick={() => setAll(true)}>Show all{sizeOf(lacks)}</button></p>}
    </section>
  );
}

const long = 2000; // characters, above which a reader may want a file

function Printed({ of, whole, name, line, find }: { of: Result; whole: boolean; name: string; line: string; find: string }): ReactNode {
  if (of.printed.length === 0) {
    return whole && <p className="bar">No output.</p>;
  }
  const text = of.printed.map((p) => p.text).join("\n");
  return (
    <>
      {of.printed.map((p) => <div key={p.label}>{p.label !== "" && <p className="bar">{p.label}</p>}<Screen text={p.text} label={`Output of ${cutMiddle(line, 60)}`} find={find} /></div>)}
      {whole && (of.whole !== undefined || text.length > long) && (
        <p className="bar">
          {of.whole !== undefined && <>The agent reported a part of {bytes(of.whole)}. </>}
          <button className="text" onClick={() => download(name, text)}>Download</button>
        </p>
      )}
    </>
  );
}

function End({ of }: { of: Result }): ReactNode {
  const code = of.exit === undefined ? (of.failed ? "failed" : "") : `exit ${of.exit}`;
  return <><span className={of.failed ? "bad" : undefined}><Text of={[of.outcome.replaceAll("_", " "), code].filter((t) => t !== "").join(", ")} /></span>{(of.outcome || code) !== "" && " · "}{duration(of.took)}</>;
}

function Unended({ since, at, running }: { since: string; at?: number; running: boolean }): ReactNode {
  useNow();
  return at === undefined && !running ? "no result" : <span className="s-run">running {duration((at ?? now()) - Date.parse(since))}</span>;
}
