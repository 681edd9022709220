import { useId, useLayoutEffect, useRef, type ReactNode, type RefObject } from "react";

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

/** A modal dialog while its component is mounted. It is closed before it is removed: the focus returns to where it was. */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current!;
    element.showModal();
    return () => element.close();
  }, []);
  return dialog;
}

/** A question with consequences. The focus begins on the harmless choice, and a second click sends nothing. */
export function Dialog({ title, yes, danger, ready = true, submit, close, children }: Props): ReactNode {
  const dialog = useModal(), sent = useRef(false), id = useId();
  useLayoutEffect(() => dialog.current!.querySelector<HTMLElement>("[data-harmless]")!.focus(), [dialog]);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={(e) => e.currentTarget.open || close()} onCancel={(e) => e.stopPropagation()}>
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
