/** A key that makes one thing of repeated requests. crypto.randomUUID is missing on pages that plain HTTP brings from another machine. */
export function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
