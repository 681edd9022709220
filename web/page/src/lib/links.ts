import { useEffect } from "react";

/** A link is the current one only if the whole address is the same: many links of a page differ in one parameter. */
export const exactly = { exact: true, includeSearch: true, explicitUndefined: true };

/** Scrolls the row of tabs to the current one, which may be out of view on a phone. */
export function useTabInView(current: string): void {
  useEffect(() => {
    document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }); // some browsers return a promise
  }, [current]);
}
