import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { Schemas } from "@omoi/client";
import { useState, type ReactNode } from "react";

import { api, said, unwrap } from "../lib/api";
import { now } from "../lib/clock";
import { Copy } from "../lib/copy";
import { Dialog } from "../lib/dialog";
import { Form, Input, Select, type Options } from "../lib/fields";
import { useMay } from "../lib/session";
import { Clock, Text } from "../lib/text";

type Key = Schemas["APIKey"];

const scopes: Options = [["read", "Read"], ["write", "Write: also read"], ["admin", "Admin: everything"]];

/** API keys of the organization. The secret of a new one is shown once. */
export function Keys(): ReactNode {
  const admin = useMay("admin"), [made, setMade] = useState<Schemas["CreatedAPIKey"]>();
  const all = useQuery({ queryKey: ["keys"], enabled: admin, queryFn: () => unwrap(api.GET("/api/v1/auth/api-keys", { params: { query: { limit: 500 } } })) });
  if (!admin) {
    return <p className="notice">API keys need the scope admin. Next: sign in with a key that has this scope.</p>;
  }
  return (
    <>
      {made !== undefined && <Secret of={made} close={() => setMade(undefined)} />}
      {all.error !== null && <p className="notice bad" role="alert"><Text of={said(all.error)} /></p>}
      <section className="panel" aria-label="API keys">
        {all.data === undefined ? <p className="muted empty">{all.error === null && "Loading…"}</p> : all.data.items.length === 0 && <p className="muted empty">No API keys yet.</p>}
        {all.data?.items.map((k) => <Row key={k.id} of={k} />)}
      </section>
      <CreateKey made={setMade} />
    </>
  );
}

function Row({ of }: { of: Key }): ReactNode {
  const [asked, ask] = useState(false), ended = of.revoked_at !== null ? "revoked" : of.expires_at !== null && Date.parse(of.expires_at) < now() ? "expired" : "";
  return (
    <article className="entry" aria-label={of.name}>
      <div className="grow">
        <p><span className="strong"><Text of={of.name} /></span> {ended !== "" && <span className="bad">{ended}</span>} <code><Text of={of.prefix} />…</code></p>
        <p className="muted small">
          {of.scopes.join(", ")} · user <Text of={of.user} /> · created <Clock at={of.created_at} whole />
          {of.last_used_at === null ? ", never used" : <>, last used <Clock at={of.last_used_at} whole /></>}
          {of.expires_at !== null && <>, expires <Clock at={of.expires_at} whole /></>}
        </p>
      </div>
      {of.revoked_at === null && <button className="danger" onClick={() => ask(true)}>Revoke…</button>}
      {asked && <Revoke of={of} close={() => ask(false)} />}
    </article>
  );
}

function Revoke({ of, close }: { of: Key; close: () => void }): ReactNode {
  const client = useQueryClient();
  const send = useMutation({ mutationFn: () => unwrap(api.DELETE("/api/v1/auth/api-keys/{id}", { params: { path: { id: of.id } } })), onSuccess: close, onSettled: () => client.invalidateQueries() });
  return (
    <Dialog key={send.failureCount} title={`Revoke ${of.name}?`} yes="Revoke the key" danger submit={() => send.mutate()} close={close}>
      <ul><li>The server rejects the key from now on.</li><li>Sessions of the web page that started with the key end.</li><li>A revoked key cannot be used again.</li></ul>
      {send.error !== null && <p className="bad" role="alert"><Text of={said(send.error)} /></p>}
    </Dialog>
  );
}

/** The secret of a new key, until the user leaves or closes the panel. */
function Secret({ of, close }: { of: Schemas["CreatedAPIKey"]; close: () => void }): ReactNode {
  return (
    <section className="notice" aria-label="New API key">
      <p role="status"><b><Text of={of.name} /></b> is created. Copy the key now: it is not shown again.</p>
      <p><code data-secret>{of.secret}</code></p>
      <p className="spread">
        <Copy of={of.secret} />
        <button onClick={close}>Done</button>
      </p>
    </section>
  );
}

const blank = { name: "", scope: "write", user: "", expires: "" };
const places = { name: "body.name", scope: "body.scopes", user: "body.user", expires: "body.expires_at" };

function CreateKey({ made }: { made: (key: Schemas["CreatedAPIKey"]) => void }): ReactNode {
  const client = useQueryClient(), [values, setValues] = useState(blank);
  const field = (name: keyof typeof blank) => ({ at: places[name], value: values[name], change: (to: string) => setValues({ ...values, [name]: to }) });
  const send = () => unwrap(api.POST("/api/v1/auth/api-keys", {
    body: { name: values.name, scopes: [values.scope as "read"], ...(values.user !== "" && { user: values.user }), ...(values.expires !== "" && { expires_at: new Date(values.expires).toISOString() }) },
  }));
  return (
    <section className="panel box-form">
      <h2>Create an API key</h2>
      <Form label="Create an API key" yes="Create the key" send={send} done={(key) => { setValues(blank); made(key); void client.invalidateQueries({ queryKey: ["keys"] }); }}>
        <Input label="Name" hint="Tells keys apart." {...field("name")} />
        <Select label="Scope" options={scopes} {...field("scope")} />
        <Input label="User" hint="The user that the key belongs to, created if missing. Empty: you." {...field("user")} />
        <Input label="Expires" type="datetime-local" hint="Empty: never." {...field("expires")} />
      </Form>
    </section>
  );
}
