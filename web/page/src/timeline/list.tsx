import { useImperativeHandle, useLayoutEffect, useReducer, useRef, type KeyboardEvent, type ReactNode, type Ref, type UIEvent } from "react";
import { flushSync } from "react-dom";

import { Heights } from "./heights";
import type { Place } from "./place";

const overscan = 300;

export interface ListHandle { reveal: (row: number) => void; place: () => Place; stay: () => void }

interface Props {
  count: number;
  label: string;
  row: (row: number) => ReactNode;
  /** 1 for a row that is shown; another one takes no room and is never mounted. Left out: all rows are shown. */
  shown?: Uint8Array;
  follow: boolean;
  onFollow: (follow: boolean) => void;
  /** Called when the reader scrolls. */
  onScrolled?: () => void;
  handle?: Ref<ListHandle>;
  /** Where a reader begins that does not follow. */
  start?: Place;
  /** The likely height of a row. */
  estimate?: number;
  /** The rows are lines, not articles of a feed. */
  plain?: boolean;
}

/**
 * A list of rows of any height of which only those in view are mounted. While the reader reads, the first visible row
 * stays where it is; while the list follows, the newest row stays in view. A list does not follow while the keyboard is in a row.
 */
export function List(props: Props): ReactNode {
  const { estimate = 27, plain = false } = props;
  const box = useRef<HTMLDivElement>(null), rows = useRef<HTMLDivElement>(null);
  const heights = useRef<Heights>(null);
  heights.current ??= new Heights(estimate);
  const h = heights.current;
  const at = useRef({ row: 0, offset: 0, ...props.start, top: 0, view: 600, width: 0 });
  const [, redraw] = useReducer((n: number) => n + 1, 0);

  const seen = useRef<Uint8Array>(undefined);
  h.resize(props.count);
  if (props.shown !== undefined && seen.current !== props.shown) {
    seen.current = props.shown;
    hide(h, props.shown, estimate);
  }
  const place = at.current;
  const follows = props.follow;
  if (follows) {
    place.top = Math.max(0, h.total - place.view);
  } else {
    place.top = h.offset(place.row) + place.offset;
  }
  const first = h.rowAt(Math.max(0, place.top - overscan)), last = h.rowAt(place.top + place.view + overscan);

  useImperativeHandle(props.handle, () => ({
    reveal: (row) => {
      props.onFollow(false);
      Object.assign(at.current, { row, offset: -Math.min(120, h.offset(row)) });
      redraw();
    },
    place: () => at.current,
    stay: () => leave(),
  }));

  useLayoutEffect(() => {
    const element = box.current!;
    let changed = false;
    for (const child of rows.current!.children as unknown as Iterable<HTMLElement>) {
      changed = h.set(Number(child.dataset.row), child.getBoundingClientRect().height) || changed;
    }
    changed = changed || place.view !== element.clientHeight;
    place.view = element.clientHeight;
    const top = follows ? Math.max(0, h.total - place.view) : h.offset(place.row) + place.offset;
    if (Math.abs(element.scrollTop - top) >= 1) {
      element.scrollTop = top;
    }
    place.top = element.scrollTop;
    if (changed) {
      redraw();
    }
  });

  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => redraw());
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);

  const scrolled = (event: UIEvent<HTMLDivElement>): void => {
    const top = event.currentTarget.scrollTop;
    if (Math.abs(top - place.top) < 1) {
      return; // our own
    }
    props.onScrolled?.();
    const up = top < place.top, bottom = top + place.view >= h.total - 2;
    const row = h.rowAt(top);
    Object.assign(place, { row, offset: top - h.offset(row), top });
    flushSync(() => {
      if (follows && up) {
        props.onFollow(false);
      } else if (!follows && bottom && !up) {
        props.onFollow(true);
      }
      redraw();
    });
  };
  const leave = (): void => {
    if (follows) {
      const top = box.current!.scrollTop, row = h.rowAt(top);
      Object.assign(place, { row, offset: top - h.offset(row) });
      props.onFollow(false);
    }
  };
  const keys = (event: KeyboardEvent): void => {
    if (["ArrowUp", "PageUp", "Home"].includes(event.key) && h.total > place.view) {
      leave();
    }
  };

  const mounted: ReactNode[] = [];
  for (let n = first; n <= last && n < props.count; n++) {
    if (props.shown === undefined || props.shown[n] === 1) {
      mounted.push(plain ? <div key={n} data-row={n}>{props.row(n)}</div>
        : <article key={n} data-row={n} tabIndex={-1} aria-posinset={n + 1} aria-setsize={props.count}>{props.row(n)}</article>);
    }
  }
  return (
    <div ref={box} className="feed" tabIndex={0} role={plain ? "group" : "feed"} aria-label={props.label} onScroll={scrolled} onKeyDown={keys} onFocus={(event) => event.target !== box.current && event.target.matches(":focus-visible") && leave()}
      onWheel={(event) => event.deltaY < 0 && h.total > place.view && leave()}>
      <div className="spacer" role="none" ref={(e) => { if (e) { e.style.height = `${h.total}px`; } }}>
        <div className="block" role="none" ref={(e) => { rows.current = e; if (e) { e.style.transform = `translateY(${h.offset(first)}px)`; } }}>{mounted}</div>
      </div>
    </div>
  );
}

/** Gives hidden rows no height, and shown ones that had none the estimate. */
function hide(h: Heights, shown: Uint8Array, estimate: number): void {
  for (let n = 0; n < shown.length; n++) {
    if (shown[n] !== 1) {
      h.set(n, 0);
    } else if (h.height(n) === 0) {
      h.set(n, estimate);
    }
  }
}
