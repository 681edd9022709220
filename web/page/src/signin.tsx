import { useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import { said } from "./lib/api";
import { useModal } from "./lib/dialog";
import { signIn, useOut } from "./lib/session";
import { Text } from "./lib/text";

/** Asks for an API key in place: what is shown, scroll position and drafts stay. */
export function SignIn(): ReactNode {
  return useOut() ? <Login /> : null;
}

function Login(): ReactNode {
  const client = useQueryClient(), dialog = useModal();
  const [key, setKey] = useState(""), [error, setError] = useState(""), [busy, setBusy] = useState(false);
  const send = async (): Promise<void> => {
    setBusy(true);
    setError("");
    try {
      await signIn(key.trim());
      setKey("");
      await client.invalidateQueries();
    } catch (e) {
      setError(said(e));
    } finally {
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby="sign-in" onClose={(e) => e.currentTarget.showModal()}>
      <form method="dialog" onSubmit={(e) => { e.preventDefault(); void send(); }}>
        <h2 id="sign-in">Sign in</h2>
        <p className="muted">This server asks for an API key. Next: <code>omoi keys create</code> creates one. The session ends with the key at the latest.</p>
        <div><label htmlFor="api-key">API key</label><input id="api-key" className="wide-input" type="password" autoComplete="current-password" value={key} onChange={(e) => setKey(e.target.value)} /></div>
        {error !== "" && <p className="bad" role="alert"><Text of={error} /></p>}
        <div className="actions"><button className="primary" disabled={busy || key.trim() === ""}>Sign in</button></div>
      </form>
    </dialog>
  );
}
