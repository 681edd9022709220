import { useMutation } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import { useInfo } from "../banners";
import { said } from "../lib/api";
import { Check } from "../lib/fields";
import { date } from "../lib/format";
import { setSingleKeys, singleKeys } from "../lib/keyboard";
import { AllKeys } from "../lib/keys";
import { signOut, useSession } from "../lib/session";
import { Text } from "../lib/text";
import { setTheme, theme, type Theme } from "../theme";

const themes: [Theme, string][] = [["system", "System"], ["light", "Light"], ["dark", "Dark"]];

/** What belongs to this browser, and what the server says of itself. */
export function General(): ReactNode {
  const [chosen, choose] = useState(theme());
  const info = useInfo().data, session = useSession();
  return (
    <>
      <fieldset className="panel settings">
        <legend>Theme</legend>
        {themes.map(([value, word]) => (
          <label key={value}>
            <input type="radio" name="theme" checked={chosen === value} onChange={() => { setTheme(value); choose(value); }} /> {word}
          </label>
        ))}
      </fieldset>
      <Keys />
      {session !== undefined && !session.auth_disabled && (
        <section className="panel settings">
          <h2>Session</h2>
          <dl className="defs">
            <dt>Signed in as</dt><dd><Text of={session.name} /></dd>
            <dt>Scopes</dt><dd>{session.scopes.join(", ")}</dd>
            {session.expires_at !== null && <><dt>Ends</dt><dd>{date(session.expires_at)}</dd></>}
          </dl>
          <SignOut />
        </section>
      )}
      {info !== undefined && (
        <section className="panel settings">
          <h2>Server</h2>
          <dl className="defs">
            <dt>Version</dt><dd>{info.version}</dd>
            <dt>Authentication</dt><dd>{info.auth_disabled ? "disabled: every user of this machine has access" : "by API key"}</dd>
            <dt>Agents</dt><dd>{info.agents.join(", ")}</dd>
            <dt>Sandbox providers</dt><dd>{info.sandboxes.join(", ")}</dd>
          </dl>
        </section>
      )}
    </>
  );
}

/** Ends the session, or says why it has not ended. */
function SignOut(): ReactNode {
  const out = useMutation({ mutationFn: signOut });
  return (
    <>
      {out.error !== null && <p className="bad" role="alert">You are still signed in: <Text of={said(out.error)} /></p>}
      <button disabled={out.isPending} onClick={() => out.mutate()}>Sign out</button>
    </>
  );
}

/** Whether single keys act, and which there are. */
function Keys(): ReactNode {
  const [on, set] = useState(singleKeys()), [shown, show] = useState(false);
  return (
    <fieldset className="panel settings">
      <legend>Keys</legend>
      <Check label="Use keyboard shortcuts of a single character" checked={on} change={(to) => { setSingleKeys(to); set(to); }} />
      <p className="muted small">Turn them off if speech input or your keyboard sends characters by accident.</p>
      <button onClick={() => show(true)}>Show all keys</button>
      {shown && <AllKeys close={() => show(false)} />}
    </fieldset>
  );
}
