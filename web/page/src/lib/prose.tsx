import type { ReactNode } from "react";

import { Text } from "./text";

/**
 * Shows a text of a model. Of Markdown only code and bold text are drawn; everything else, links and pictures too, stays
 * the text that was written.
 */
export function Prose({ of }: { of: string }): ReactNode {
  return <>{of.split(/^(```[^\n]*\n[\s\S]*?^```[ \t]*$)/m).map((part, n) => (n % 2 === 1 ? <Fence key={n} of={part} /> : <Inline key={n} of={part} />))}</>;
}

function Fence({ of }: { of: string }): ReactNode {
  const lines = of.split("\n");
  return <pre className="box"><Text of={lines.slice(1, -1).join("\n")} /></pre>;
}

function Inline({ of }: { of: string }): ReactNode {
  return <>{of.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/).map((part, n) => {
    if (n % 2 === 0) {
      return <Text key={n} of={part} />;
    }
    return part.startsWith("`") ? <code key={n} className="span"><Text of={part.slice(1, -1)} /></code> : <strong key={n}><Text of={part.slice(2, -2)} /></strong>;
  })}</>;
}
