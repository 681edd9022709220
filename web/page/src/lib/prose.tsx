import type { ReactNode } from "react";

import { InSteps } from "./steps";
import { Text } from "./text";

/**
 * Shows a text of a model. Of Markdown only code and bold text are drawn; everything else, links and pictures too, stays
 * the text that was written.
 */
export function Prose({ of }: { of: string }): ReactNode {
  return <InSteps of={of} draw={(text) => partsOf(text).map(({ fence, lines }, n) => (fence ? <pre key={n} className="box"><Text of={lines.join("\n")} /></pre> : <Inline key={n} of={lines.join("\n")} />))} />;
}

interface Part { fence: boolean; lines: string[] }

/** Splits a text into its fences and what is between them. A fence without an end is none. */
function partsOf(text: string): Part[] {
  const lines = text.split("\n"), last = lines.findLastIndex(isEnd), parts: Part[] = [{ fence: false, lines: [] }];
  lines.forEach((line, n) => {
    const part = parts.at(-1)!;
    if (part.fence && isEnd(line)) {
      parts.push({ fence: false, lines: [] });
    } else if (!part.fence && n < last && line.startsWith("```")) {
      parts.push({ fence: true, lines: [] });
    } else {
      part.lines.push(line);
    }
  });
  return parts;
}

const isEnd = (line: string): boolean => /^```[ \t]*\r?$/.test(line);

function Inline({ of }: { of: string }): ReactNode {
  return <>{of.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/).map((part, n) => {
    if (n % 2 === 0) {
      return <Text key={n} of={part} />;
    }
    return part.startsWith("`") ? <code key={n} className="span"><Text of={part.slice(1, -1)} /></code> : <strong key={n}><Text of={part.slice(2, -2)} /></strong>;
  })}</>;
}
