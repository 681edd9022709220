import type { Schemas } from "@omoi/client";

import type { AttemptLog } from "./store";

/** Takes a page of the outline of an attempt. Of events whose bodies arrived it says nothing new. */
export function takeOutline(log: AttemptLog, of: Schemas["Outline"]): void {
  let time = Date.parse(of.started_at ?? "");
  of.type.forEach((type, i) => {
    const n = of.after + 1 + i;
    time += of.at_ms[i]!;
    if (!log.seen.has(n)) {
      log.learn(n, { type: of.event_types[type] ?? "", tool: of.tools[of.tool[i]!] ?? "", call: of.call_ids[of.call[i]!] ?? "", time });
    }
  });
  of.failed.forEach((n) => log.failures.add(log.rowOf(n)));
  log.outlined = Math.max(log.outlined, of.after + of.type.length);
}
