import { useEffect, useState, type ReactNode } from "react";

import { grouped } from "../lib/format";
import { useKeys } from "../lib/keyboard";
import type { AttemptLog } from "../stream/store";
import { Marks } from "./marks";
import { marksOf, step } from "./moment";

const speeds = [[1, "1×"], [4, "4×"], [16, "16×"], [0, "Max"]] as const;

interface Props { log: AttemptLog; version: number; n: number; go: (n: number) => void }

/** Plays the events of an attempt, and goes to any of them. */
export function Controls({ log, version, n, go }: Props): ReactNode {
  const [playing, setPlaying] = useState(false), [speed, setSpeed] = useState<number>(1), head = log.head;
  useEffect(() => {
    if (!playing) {
      return;
    }
    if (n >= head) {
      setPlaying(false);
      return;
    }
    const { to, wait } = step(log, n, speed), timer = setTimeout(() => go(to), wait);
    return () => clearTimeout(timer);
  }, [playing, n, head, speed, log, go]);
  const stop = (to: number): void => {
    setPlaying(false);
    go(to);
  };
  const play = (): void => {
    if (!playing && n >= head) {
      go(1);
    }
    setPlaying(!playing);
  };
  const mark = (by: 1 | -1): void => {
    const all = marksOf(log).filter((m) => m.mark !== "checkpoint").map((m) => m.n);
    stop((by > 0 ? all.find((m) => m > n) : all.findLast((m) => m < n)) ?? (by > 0 ? head : 1));
  };
  const keys: Record<string, (() => void) | undefined> = { " ": play, ArrowLeft: () => stop(n - 1), ArrowRight: () => stop(n + 1), Home: () => stop(1), End: () => stop(head), "[": () => mark(-1), "]": () => mark(1) };
  useKeys((event) => {
    const act = keys[event.key];
    if (act !== undefined && !uses(event.target as HTMLElement, event.key)) {
      event.preventDefault();
      act();
    }
  });
  return (
    <section className="player" aria-label="Player" data-playing={playing}>
      <div className="track">
        <Marks log={log} version={version} />
        <input type="range" min={1} max={head} value={n} aria-label="Event" aria-valuetext={`Event ${n} of ${head}`} onChange={(e) => stop(Number(e.target.value))} />
      </div>
      <div className="spread">
        <button className="primary" onClick={play}>{playing ? "Pause" : "Play"}</button>
        <span className="chips" role="group" aria-label="Speed">
          {speeds.map(([value, word]) => <button key={word} className="chip" aria-pressed={speed === value} onClick={() => setSpeed(value)}>{word}</button>)}
        </span>
        <label className="at">Event <Place n={n} head={head} go={stop} /> of {grouped(head)}</label>
        <button onClick={() => mark(-1)} title="[">Previous mark</button>
        <button onClick={() => mark(1)} title="]">Next mark</button>
      </div>
    </section>
  );
}

/** The number of the event, to be typed. */
function Place({ n, head, go }: { n: number; head: number; go: (n: number) => void }): ReactNode {
  const [text, setText] = useState<string>();
  const typed = (value: string): void => {
    setText(value);
    const to = Number(value);
    if (Number.isInteger(to) && to >= 1 && to <= head) {
      go(to);
    }
  };
  return <input type="number" min={1} max={head} value={text ?? n} onChange={(e) => typed(e.target.value)} onBlur={() => setText(undefined)} />;
}

const moves = ["ArrowLeft", "ArrowRight", "Home", "End"];

/** Whether what has the focus uses a key itself. */
function uses(at: HTMLElement, key: string): boolean {
  return key === " " && at.closest("button, a, summary") !== null || moves.includes(key) && at.closest("input, [role=feed], .terminal") !== null;
}
