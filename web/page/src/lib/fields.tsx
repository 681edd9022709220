import { useMutation } from "@tanstack/react-query";
import { createContext, use, useId, useRef, type ReactNode } from "react";

import { noFaults, type Faults } from "./faults";
import { sendByKey } from "./keyboard";
import { marked, Text } from "./text";
import { useFaults } from "./use-faults";

/** The faults of the form around a field. */
export const FaultsOf = createContext<Faults>(noFaults);

interface Common {
  label: string;
  /** Location of the value in the request, as the server names it in errors. */
  at: string;
  hint?: ReactNode;
  value: string;
  change: (to: string) => void;
}

/** A label with its control, a hint, and what is wrong with the value. */
function Field({ label, at, hint, children }: Pick<Common, "label" | "at" | "hint"> & { children: (props: { id: string; "aria-describedby"?: string; "aria-invalid"?: true }) => ReactNode }): ReactNode {
  const id = useId(), fault = use(FaultsOf).at[at];
  const described = [hint !== undefined && `${id}h`, fault !== undefined && `${id}f`].filter(Boolean).join(" ");
  return (
    <div className="field" data-at={at}>
      <label htmlFor={id}>{label}</label>
      {children({ id, ...(described !== "" && { "aria-describedby": described }), ...(fault !== undefined && { "aria-invalid": true }) })}
      {fault !== undefined && <p id={`${id}f`} className="bad small" data-fault={at}><Text of={fault} /></p>}
      {hint !== undefined && <p id={`${id}h`} className="muted small">{hint}</p>}
    </div>
  );
}

interface InputProps extends Common { type?: "text" | "number" | "password" | "datetime-local"; placeholder?: string; min?: number; max?: number; step?: number | "any"; spellCheck?: boolean; autoComplete?: string }

export function Input({ label, at, hint, value, change, type = "text", ...rest }: InputProps): ReactNode {
  return <Field label={label} at={at} hint={hint}>{(props) => <input className="wide-input" autoComplete="off" {...rest} {...props} type={type} value={value} onChange={(e) => change(e.target.value)} />}</Field>;
}

export function Area({ label, at, hint, value, change, rows = 3, mono, placeholder }: Common & { rows?: number; mono?: boolean; placeholder?: string }): ReactNode {
  return (
    <Field label={label} at={at} hint={hint}>
      {(props) => <textarea {...props} rows={rows} className={mono ? "mono" : undefined} spellCheck={!mono} placeholder={placeholder} value={value} onChange={(e) => change(e.target.value)} />}
    </Field>
  );
}

export type Options = readonly (readonly [value: string, word: string])[];

export function Select({ label, at, hint, value, change, options }: Common & { options: Options }): ReactNode {
  return (
    <Field label={label} at={at} hint={hint}>
      {(props) => (
        <select {...props} className="wide-input" value={value} onChange={(e) => change(e.target.value)}>
          {options.map(([v, word]) => <option key={v} value={v}>{marked(word)}</option>)}
        </select>
      )}
    </Field>
  );
}

export function Check({ label, checked, change }: { label: ReactNode; checked: boolean; change: (to: boolean) => void }): ReactNode {
  return <label className="check"><input type="checkbox" checked={checked} onChange={(e) => change(e.target.checked)} /> {label}</label>;
}

/** What is wrong with a form and belongs to no field. */
export function Rest(): ReactNode {
  const rest = use(FaultsOf).rest;
  return rest.length === 0 ? null : <div className="notice bad" role="alert">{rest.map((message) => <p key={message}><Text of={message} /></p>)}</div>;
}

interface FormProps<T> {
  label: string;
  yes: string;
  send: () => Promise<T>;
  done: (result: T) => void;
  cancel?: () => void;
  children: ReactNode;
}

/** A form that is sent once at a time, and shows at each field what the server refuses. */
export function Form<T>({ label, yes, send, done, cancel, children }: FormProps<T>): ReactNode {
  const sending = useMutation({ mutationFn: send, onSuccess: done }), form = useRef<HTMLFormElement>(null), busy = useRef(false);
  const [faults] = useFaults(form, sending.error);
  const submit = (): void => {
    if (!busy.current) {
      busy.current = true;
      sending.mutate(undefined, { onSettled: () => { busy.current = false; } });
    }
  };
  return (
    <FaultsOf value={faults}>
      <form ref={form} aria-label={label} className="fields" noValidate onKeyDown={sendByKey} onSubmit={(e) => { e.preventDefault(); submit(); }}>
        {children}
        <Rest />
        <div className="spread">
          <button className="primary" disabled={sending.isPending}>{yes}</button>
          {cancel !== undefined && <button type="button" onClick={cancel}>Go back</button>}
        </div>
      </form>
    </FaultsOf>
  );
}
