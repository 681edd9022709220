import { useEffect, useRef } from "react";

/** Whether a key is typed into a field, or belongs to the browser. */
function typing(event: KeyboardEvent): boolean {
  const at = event.target as HTMLElement;
  return event.ctrlKey || event.metaKey || event.altKey || /^(input|textarea|select)$/i.test(at.tagName) || at.closest("dialog") !== null;
}

/** Puts the focus on the first element of the page that matches, if there is one. */
export function focus(event: KeyboardEvent, selector: string): void {
  const element = document.querySelector<HTMLElement>(selector);
  if (element !== null) {
    event.preventDefault(); // the key is not typed there
    element.focus();
  }
}

/** Calls a handler for each key that is not typed into a field, with the key before. */
export function useKeys(press: (event: KeyboardEvent, before: string) => void): void {
  const newest = useRef(press);
  newest.current = press;
  useEffect(() => {
    let before = "";
    const on = (event: KeyboardEvent): void => {
      if (!typing(event)) {
        newest.current(event, before);
        before = event.key;
      }
    };
    document.addEventListener("keydown", on);
    return () => document.removeEventListener("keydown", on);
  }, []);
}
