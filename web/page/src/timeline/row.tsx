import { Component, memo, type ReactNode } from "react";

import type { Event } from "../lib/api";
import { now, useNow } from "../lib/clock";
import { clock, date, duration, grouped, many } from "../lib/format";
import { Text } from "../lib/text";
import { neutral, type Card } from "./cards";
import { timeOf } from "./fields";
import { wholeCardOf } from "./whole";

interface Props {
  event: Event;
  /** The ends of the call that the event starts, as far as they are held. */
  ends: Event[];
  /** When the call ended; 0: not yet. */
  endedAt: number;
  /** Whether the attempt runs: a call without an end is still running. */
  running: boolean;
  /** The time of the moment that is shown; left out: now. */
  moment?: number;
  chosen: boolean;
  numbers: boolean;
  /** Whether the event is one of a subagent. */
  inner: boolean;
  /** The number of events of the subagent that the event starts. */
  inside: number;
  open: boolean;
  toggle: (n: number) => void;
}

/** An event in one row, with its details below while it is open. Most draws change nothing of it. */
export const Row = memo(function Row(props: Props): ReactNode {
  return <CardBoundary event={props.event}><CardRow {...props} /></CardBoundary>;
}, (was, is) => same({ ...was, ...was.ends, ends: 0 }, { ...is, ...is.ends, ends: 0 })); // each draw lists the ends again

/** Whether two objects have the same values. */
function same(was: object, is: object): boolean {
  const now = new Map(Object.entries(is));
  return Object.keys(was).length === now.size && Object.entries(was).every(([name, value]) => now.has(name) && Object.is(value, now.get(name)));
}

function CardRow({ event, ends, endedAt, running, moment, chosen, numbers, inner, inside, open, toggle }: Props): ReactNode {
  const card = wholeCardOf(event, ends);
  const at = event.created_at, isCall = event.event_type.endsWith("_use") || event.event_type.endsWith("_invoked");
  const look = ["event", card.tone, chosen && "chosen", numbers && "numbered", inner && "inner"].filter(Boolean).join(" ");
  return (
    <div className={look} id={`e${event.attempt}:${event.sequence}`}>
      {numbers && <a className="number" href={`#e${event.attempt}:${event.sequence}`}>{grouped(event.sequence)}</a>}
      <time dateTime={at} title={`${date(at)} · event ${event.sequence}`}>{clock(at)}</time>
      <span className="label one-line"><Text of={card.label} /></span>
      <div className="main grow">
        <Main card={card} open={open} toggle={() => toggle(event.sequence)} />
      </div>
      <span className="meta">
        {event.late && <span className="late" title="The event came after the end of its attempt, and changes no task.">after the end </span>}
        {inside > 0 && `${many(inside, "event")} · `}
        {isCall && <Took since={at} endedAt={endedAt} own={timeOf(ends)} running={running} moment={moment} />}{isCall && card.meta !== undefined && " · "}{card.meta}
      </span>
    </div>
  );
}

function Main({ card, open, toggle }: { card: Card; open: boolean; toggle: () => void }): ReactNode {
  if (card.all !== undefined) {
    return <>{open ? card.all.draw() : card.main}<button className="text small" aria-expanded={open} onClick={toggle}>{open ? "Show less" : card.all.label}</button></>;
  }
  if (card.more === undefined) {
    return card.main;
  }
  return (
    <>
      <button className="text fold" aria-expanded={open} onClick={toggle}><span className="grow">{card.main}</span></button>
      {open && <div className="more">{card.more()}</div>}
    </>
  );
}

/** How long a call took as its tool says, or has been running. Events that arrived together were stored at the same moment. */
function Took({ since, endedAt, own, running, moment }: { since: string; endedAt: number; own?: number; running: boolean; moment?: number }): ReactNode {
  if (endedAt > 0) {
    return duration(own ?? endedAt - Date.parse(since));
  }
  return running ? <Running since={since} moment={moment} /> : "no result";
}

function Running({ since, moment }: { since: string; moment?: number }): ReactNode {
  useNow();
  return <span className="s-run">running {duration((moment ?? now()) - Date.parse(since))}</span>;
}

/** A card that fails takes only itself away. */
class CardBoundary extends Component<{ event: Event; children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override render(): ReactNode {
    return this.state.failed ? <Plain event={this.props.event} card={neutral(this.props.event)} /> : this.props.children;
  }
}

function Plain({ event, card }: { event: Event; card: Card }): ReactNode {
  return <div className="event"><time>{clock(event.created_at)}</time><span className="label"><Text of={card.label} /></span><div className="main">{card.main}{card.more?.()}</div></div>;
}
