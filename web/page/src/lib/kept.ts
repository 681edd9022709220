type Place = "localStorage" | "sessionStorage";

/** What the browser keeps under a name; null if it keeps nothing for this page. */
export function recall(place: Place, name: string): string | null {
  try {
    return window[place].getItem(name);
  } catch {
    return null;
  }
}

/** A list that the browser keeps under a name as JSON; empty if there is none. */
export function recallList<T>(place: Place, name: string): T[] {
  try {
    return JSON.parse(recall(place, name) ?? "[]") as T[];
  } catch {
    return []; // another version of the page wrote it
  }
}

/** What this browser keeps for all users: theme and keys. */
const ofAll = ["omoi.theme", "omoi.keys"];

/** Forgets what the page kept of a user. */
export function forget(): void {
  for (const place of ["sessionStorage", "localStorage"] as const) {
    for (const name of namesIn(place)) {
      if (name.startsWith("omoi.") && !ofAll.includes(name)) {
        keep(place, name);
      }
    }
  }
}

function namesIn(place: Place): string[] {
  try {
    return Object.keys(window[place]);
  } catch {
    return [];
  }
}

/** Keeps a text, if the browser keeps something for this page. An absent text is forgotten. */
export function keep(place: Place, name: string, text?: string): void {
  try {
    if (text === undefined) {
      window[place].removeItem(name);
    } else {
      window[place].setItem(name, text);
    }
  } catch {
    // it holds until the page is closed
  }
}
