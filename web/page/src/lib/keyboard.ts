import { useEffect, useRef, type KeyboardEvent as Press } from "react";

import { keep, recall } from "./kept";

const kept = "omoi.keys";
let single = recall("localStorage", kept) !== "off";

/** Whether keys of a single character act. Users whose speech input types letters turn them off. */
export const singleKeys = (): boolean => single;

/** Chooses whether keys of a single character act, and keeps the choice. */
export function setSingleKeys(on: boolean): void {
  single = on;
  keep("localStorage", kept, on ? undefined : "off");
}

/** Whether the user turned a key off. */
const isOff = (event: KeyboardEvent): boolean => !single && event.key.length === 1 && event.key !== " ";

/** Whether a key is typed into a field, or belongs to the browser or to an open dialog. */
function typing(event: KeyboardEvent): boolean {
  const at = event.target as HTMLElement;
  return event.ctrlKey || event.metaKey || event.altKey || at.matches?.("input:not([type=range]), textarea, select") || document.querySelector("dialog[open]") !== null;
}

/** Puts the focus on the first visible element of the page that matches, if there is one. */
export function focus(event: KeyboardEvent, selector: string): void {
  const element = [...document.querySelectorAll<HTMLElement>(selector)].find((e) => e.checkVisibility());
  if (element !== undefined) {
    event.preventDefault(); // the key is not typed there
    element.focus();
  }
}

/** Opens the menu of a task's actions, or goes to its first action. */
export function goToActions(event: KeyboardEvent): void {
  const menu = document.querySelector<HTMLElement>("[data-actions] [popover]");
  menu?.togglePopover(true);
  focus(event, menu === null ? "[data-actions] button" : "[data-actions] [popover] button");
}

/** Calls a handler for each key that is not typed into a field, with the key before. */
export function useKeys(press: (event: KeyboardEvent, before: string) => void): void {
  const newest = useRef(press);
  newest.current = press;
  useEffect(() => {
    let before = "";
    const on = (event: KeyboardEvent): void => {
      if (!typing(event) && !isOff(event)) {
        newest.current(event, before);
        before = event.key;
      }
    };
    document.addEventListener("keydown", on);
    return () => document.removeEventListener("keydown", on);
  }, []);
}

/** The keys that send a text or a form, as the keyboard of the user names them. */
export const sendKeys = /^(Mac|iP)/.test(globalThis.navigator?.platform ?? "") ? "⌘+Enter" : "Ctrl+Enter";

/** Sends a form by Ctrl+Enter in any of its fields. On a button the key presses that button. */
export function sendByKey(event: Press<HTMLFormElement>): void {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !(event.target instanceof HTMLButtonElement)) {
    event.preventDefault();
    event.currentTarget.requestSubmit();
  }
}
