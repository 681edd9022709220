import { useId, type ReactNode } from "react";

import { useModal } from "./dialog";
import { sendKeys } from "./keyboard";

/** All keys of the page. */
const keys: readonly (readonly [keys: string, does: string])[] = [
  ["?", "this list"],
  ["g t, g f, c", "the list of tasks, the fleet, a new task"],
  ["/", "search"],
  ["j, k, Enter", "in the list of tasks: next row, previous row, open"],
  ["1 to 6", "views of a task"],
  ["[, ]", "previous and next attempt of a task"],
  [".", "menu of actions of a task; in a review: its first action"],
  ["o", "pull request of a task, in a new tab"],
  [`m, ${sendKeys}`, "message to the agent, send a message or a form"],
  ["G, g g", "newest event, and follow; first event"],
  ["f, n, N", "search the events of the attempt; next and previous one"],
  ["e, E", "next error, previous error"],
  ["#", "numbers of events"],
  ["n, N, w", "in the output: next and previous place found; wrap lines"],
  ["Space, arrows, Home, End, [, ]", "in a replay: play, one event, first, last, previous mark, next mark"],
  ["n, p", "in a review: next and previous change, also in the next file"],
  ["j, k, Enter", "in a review: next line, previous line, comment on the line"],
  ["s", "split or unified diff"],
  ["Esc", "leave the message box, close a menu or a dialog"],
];

/** Lists all keys. */
export function AllKeys({ close }: { close: () => void }): ReactNode {
  const dialog = useModal(), id = useId();
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={(e) => e.currentTarget.open || close()}>
      <form method="dialog">
        <h2 id={id}>Keys</h2>
        <table className="keys">
          <tbody>{keys.map(([key, does]) => <tr key={`${key} ${does}`}><th scope="row"><kbd>{key}</kbd></th><td>{does}</td></tr>)}</tbody>
        </table>
        <div className="actions"><button>Close</button></div>
      </form>
    </dialog>
  );
}
