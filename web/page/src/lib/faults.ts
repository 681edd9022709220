import type { Problem } from "./api";

type Detail = NonNullable<Problem["errors"]>[number];

/** What is wrong with a form: by field, and what belongs to no field. */
export interface Faults { at: Record<string, string>; rest: string[] }

export const noFaults: Faults = { at: {}, rest: [] };

/** Puts what the server found at the fields of a form. A field is named by its location, for example body.budget.usd. */
export function place(details: readonly Detail[], fields: readonly string[]): Faults {
  const at: Record<string, string> = {}, rest: string[] = [];
  for (const { location, message } of details) {
    const field = fields.filter((f) => location === f || location.startsWith(`${f}.`) || location.startsWith(`${f}[`)).sort((a, b) => b.length - a.length)[0];
    if (field === undefined) {
      rest.push(message);
    } else {
      at[field] ??= message;
    }
  }
  return { at, rest };
}
