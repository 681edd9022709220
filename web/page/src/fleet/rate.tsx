import type { Schemas } from "@omoi/client";
import type { ReactNode } from "react";

import { useMay } from "../lib/session";
import { Text } from "../lib/text";
import { useAsk } from "./act";

type Rating = Schemas["GuardianRating"];
type Word = Schemas["RateRequest"]["rating"];

interface Props { of: string; rating: Rating | null | undefined; send: (word: Word) => Promise<Rating> }

const words: Word[] = ["right", "wrong"];

/** Asks whether an intervention or a finding was right. The newest rating is pressed, with the name of its user. */
export function Rate({ of, rating, send }: Props): ReactNode {
  const { pending, ask } = useAsk(), may = useMay("write");
  const choose = (word: Word): void => ask(`Rate ${of} as ${word}`, () => send(word).then((r) => r.rating));
  return (
    <span className="chips">
      {may && words.map((word) => (
        <button key={word} className="chip" aria-pressed={rating?.rating === word} disabled={pending} onClick={() => choose(word)}>{word}<span className="hidden-text">: <Text of={of} /></span></button>
      ))}
      {rating != null && <span className="small muted">{!may && `${rating.rating}, `}by <Text of={rating.rated_by} />{rating.reason !== "" && <>: <Text of={rating.reason} /></>}</span>}
    </span>
  );
}
