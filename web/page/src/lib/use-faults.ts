import { useEffect, useRef, useState, type RefObject } from "react";

import { OmoiError, said } from "./api";
import { noFaults, place, type Faults } from "./faults";

function faultsOf(error: unknown, fields: readonly string[]): Faults {
  const details = error instanceof OmoiError ? error.problem.errors ?? [] : [];
  return details.length > 0 ? place(details, fields) : { at: {}, rest: [said(error)] };
}

/** The faults of a form that the server refused, at the fields that are shown. The first one has the focus, else the button that sends the form. */
export function useFaults(form: RefObject<HTMLElement | null>, error: Error | null): [Faults, (to: Faults) => void] {
  const [faults, set] = useState(noFaults), fresh = useRef(false);
  useEffect(() => {
    fresh.current = error !== null;
    set(error === null ? noFaults : faultsOf(error, [...form.current!.querySelectorAll<HTMLElement>("[data-at]")].map((e) => e.dataset["at"]!)));
  }, [form, error]);
  useEffect(() => {
    if (fresh.current) {
      fresh.current = false;
      focusFault(form.current!);
    }
  }, [form, faults]);
  return [faults, set];
}

function focusFault(form: HTMLElement): void {
  const first = form.querySelector<HTMLElement>("[aria-invalid=true]") ?? form.querySelector<HTMLElement>("button.primary"), folded = first?.closest("details");
  if (folded != null) {
    folded.open = true;
  }
  first?.focus();
}
