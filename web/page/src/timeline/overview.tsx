import { useEffect, useRef, type ReactNode } from "react";

import type { AttemptLog } from "../stream/store";

const width = 10;

/** The attempt at a glance: errors and messages, from its first to its newest event. A click goes there. */
export function Overview({ log, version, until, goTo }: { log: AttemptLog; version: number; until: number; goTo: (n: number) => void }): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current!, height = element.clientHeight;
    if (element.height !== height) {
      element.height = height;
    }
    const pen = element.getContext("2d")!;
    pen.clearRect(0, 0, width, height);
    for (const [numbers, tone] of [[log.exchanges, "--needs"], [log.failures, "--fail"]] as const) {
      element.style.color = `var(${tone})`;
      pen.fillStyle = getComputedStyle(element).color;
      numbers.forEach((n) => n <= until && pen.fillRect(0, Math.min(height - 3, Math.round(((n - 1) / until) * height)), width, 3));
    }
  }, [log, version, until]);
  return (
    <canvas ref={canvas} className="overview" width={width} aria-hidden="true" title="Errors and messages; click to go there"
      onClick={(e) => goTo(Math.max(1, Math.ceil((e.nativeEvent.offsetY / e.currentTarget.clientHeight) * until)))} />
  );
}
