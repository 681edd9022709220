import type { Schemas } from "@omoi/client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { now } from "../lib/clock";
import { newKey } from "../lib/key";
import { useMay } from "../lib/session";
import { Text } from "../lib/text";
import { failure, type Asked } from "../task/receipts";
import { useReceiptLog } from "./act";

type Rating = Schemas["GuardianRating"];
type Word = Schemas["RateRequest"]["rating"];

interface Props { of: string; rating: Rating | null | undefined; send: (word: Word) => Promise<Rating> }

const words: Word[] = ["right", "wrong"];

/** Asks whether an intervention or a finding was right. The newest rating is pressed, with the name of its user. */
export function Rate({ of, rating, send }: Props): ReactNode {
  const { put } = useReceiptLog(), client = useQueryClient(), may = useMay("write");
  const rate = useMutation({
    mutationFn: ({ word, asked }: { word: Word; asked: Asked }) => send(word).then((r) => put({ ...asked, done: r.rating })),
    onError: (error, { asked }) => put({ ...asked, ...failure(error) }),
    onSettled: () => void client.invalidateQueries(),
  });
  const choose = (word: Word): void => {
    const asked: Asked = { key: newKey(), word: `Rate ${of} as ${word}`, at: now() };
    put(asked);
    rate.mutate({ word, asked });
  };
  return (
    <span className="chips">
      {may && words.map((word) => (
        <button key={word} className="chip" aria-pressed={rating?.rating === word} disabled={rate.isPending} onClick={() => choose(word)}>{word}<span className="hidden-text">: <Text of={of} /></span></button>
      ))}
      {rating != null && <span className="small muted">{!may && `${rating.rating}, `}by <Text of={rating.rated_by} />{rating.reason !== "" && <>: <Text of={rating.reason} /></>}</span>}
    </span>
  );
}
