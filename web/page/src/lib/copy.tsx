import { useState, type ReactNode } from "react";

/** Whether the page may copy texts: browsers allow that over HTTPS and on loopback only. */
export const canCopy = (): boolean => "clipboard" in navigator;

/** A button that copies a text, where the page may copy. */
export function Copy({ of }: { of: string }): ReactNode {
  const [copied, setCopied] = useState(false);
  return canCopy() && <button onClick={() => void navigator.clipboard.writeText(of).then(() => setCopied(true))}>{copied ? "Copied" : "Copy"}</button>;
}
