import type { Event } from "../lib/api";

/** The fields of an event, as its sender gave them: nothing about them is certain. */
export class Fields {
  constructor(private readonly of: Record<string, unknown>) {}

  static of(event: Event): Fields {
    return new Fields(event.event_data as Record<string, unknown>);
  }

  get(name: string): unknown {
    return this.of[name];
  }

  text(...names: string[]): string {
    for (const name of names) {
      const value = this.of[name];
      if (typeof value === "string" && value !== "") {
        return value;
      }
    }
    return "";
  }

  number(name: string): number | undefined {
    const value = this.of[name];
    return typeof value === "number" && Number.isFinite(value) ? value : undefined;
  }

  is(name: string): boolean {
    return this.of[name] === true;
  }

  list(name: string): string[] {
    const value = this.of[name];
    return Array.isArray(value) ? value.filter((v) => typeof v === "string") : [];
  }

  object(name: string): Fields {
    const value = this.of[name];
    return new Fields(typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {});
  }

  get entries(): [string, unknown][] {
    return Object.entries(this.of);
  }
}

const senders: Record<string, string> = { guardian: "Guardian", system: "System", agent: "Another agent" };

/** The sender of the message that an event is of. */
export const senderOf = (message: Fields): string => senders[message.text("sender_kind")] ?? "User";

/** How long a call took in milliseconds, as the events of its end say. */
export function timeOf(ends: Event[]): number | undefined {
  const says = ends.map(Fields.of).map((f) => f.number("duration_ms") ?? f.object("tool_response").number("duration_ms"));
  return says.find((ms) => ms !== undefined);
}

/** A value as text: strings as they are, everything else as JSON. */
export function written(value: unknown): string {
  return typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value, null, 2);
}

/** The input of a tool call, field by field: a text keeps its lines. */
export function inputText(input: unknown): string {
  if (typeof input !== "object" || input === null) {
    return written(input);
  }
  return Object.entries(input).map(([name, value]) => {
    const text = written(value);
    return `${name}:${text.includes("\n") ? "\n" : " "}${text}`;
  }).join("\n");
}

/** What a tool call is about, in one line. */
export function about(input: Fields): string {
  const named = input.text("command", "file_path", "path", "pattern", "query", "url", "description", "prompt", "skill");
  if (named !== "") {
    return named.split("\n", 1)[0]!;
  }
  const first = input.entries.find(([, value]) => typeof value === "string" || typeof value === "number");
  return first === undefined ? "" : String(first[1]).split("\n", 1)[0]!;
}

/** The output of a tool in the forms in which agent runtimes report it. */
export function output(response: unknown): string {
  if (typeof response !== "object" || response === null) {
    return written(response);
  }
  const fields = new Fields(response as Record<string, unknown>);
  const texts = [fields.text("stdout", "output", "content", "result", "text"), fields.text("stderr")].filter((t) => t !== "");
  return texts.length > 0 ? texts.join("\n") : written(response);
}
