import { Fragment, type ReactNode } from "react";

import { date, day, when } from "./format";

// Characters that change how a text is read without being seen: controls, direction marks, tags, zero-width and blank letters.
const unseen = /(?![\t\n\r])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u180e\u3164\uffa0]/gu;

const markOf = (found: string): string => `U+${found.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;

/** The text for places that show no markup, for example options: invisible characters as marks. */
export const marked = (text: string): string => text.replace(unseen, markOf);

/** Shows a text of an agent or user: as text only, with invisible characters as marks. */
export function Text({ of }: { of: string }): ReactNode {
  const parts: ReactNode[] = [];
  let from = 0;
  for (const found of of.matchAll(unseen)) {
    parts.push(of.slice(from, found.index), <span key={found.index} className="mark">{markOf(found[0])}</span>);
    from = found.index + found[0].length;
  }
  return from === 0 ? of : <Fragment>{parts}{of.slice(from)}</Fragment>;
}

/** Links to another site. A target that is not http or https stays text. */
export function Out({ to, children, ...data }: { to: string | null | undefined; children: ReactNode; "data-pull-request"?: true }): ReactNode {
  return to && /^https?:\/\//i.test(to)
    ? <a href={to} target="_blank" rel="noopener noreferrer" title={to} {...data}>{children}</a>
    : <>{children}</>;
}

/** A moment, or its whole date; the tooltip has both. */
export function Clock({ at, whole }: { at: string; whole?: boolean }): ReactNode {
  return <time dateTime={at} title={date(at)}>{whole ? day(at) : when(at)}</time>;
}
