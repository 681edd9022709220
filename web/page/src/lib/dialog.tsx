import { useEffect, useId, useRef, type ReactNode } from "react";

import { sendByKey } from "./keyboard";

interface Props {
  title: string;
  yes: string;
  danger?: boolean;
  /** Whether the form can be sent. */
  ready?: boolean;
  submit: () => void;
  close: () => void;
  children: ReactNode;
}

/** A question with consequences. The focus begins on the harmless choice, and a second click sends nothing. */
export function Dialog({ title, yes, danger, ready = true, submit, close, children }: Props): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null), sent = useRef(false), id = useId();
  useEffect(() => {
    const element = dialog.current!;
    if (!element.open) {
      element.showModal();
      element.querySelector<HTMLElement>("[data-harmless]")!.focus();
    }
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={close} onCancel={(e) => e.stopPropagation()}>
      <form method="dialog" onKeyDown={sendByKey} onSubmit={(e) => {
        e.preventDefault();
        if (ready && !sent.current) {
          sent.current = true;
          submit();
        }
      }}>
        <h2 id={id}>{title}</h2>
        {children}
        <div className="actions">
          <button type="button" data-harmless onClick={close}>Go back</button>
          <button className={danger ? "danger" : "primary"} disabled={!ready}>{yes}</button>
        </div>
      </form>
    </dialog>
  );
}
