import type { ReactNode } from "react";

interface Bar { day: string; height: number; text: string; unsure: boolean }

/** Bars by day. The figures are in a table beside it: the plot is a picture of that table. */
export function Plot({ label, bars, top }: { label: string; bars: Bar[]; top: (n: number) => string }): ReactNode {
  const highest = Math.max(...bars.map((b) => b.height));
  return (
    <figure className="plot" role="img" aria-label={label}>
      <span className="small muted">{top(highest)}</span>
      <div className="bars">
        {bars.map((b) => <div key={b.day} title={b.text}><div className={b.unsure ? "unsure" : b.height > 0 ? "some" : undefined} style={{ height: `${highest === 0 ? 0 : (100 * b.height) / highest}%` }} /></div>)}
      </div>
      <div className="spread small muted"><span className="grow">{bars[0]?.day}</span><span>{bars.at(-1)?.day}</span></div>
    </figure>
  );
}
