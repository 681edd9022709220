import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { Schemas } from "@omoi/client";
import { useState, type ReactNode } from "react";

import { api, getProjects, said, unwrap } from "../lib/api";
import { Dialog } from "../lib/dialog";
import { Check, Form, Input, Select, type Options } from "../lib/fields";
import { useMay } from "../lib/session";
import { Clock, Text } from "../lib/text";

type Credential = Schemas["Credential"];
type Owner = "user" | "project" | "organization";

const owners: Record<string, string> = { user: "you", project: "project", organization: "organization", app: "GitHub App of the server", installation: "configuration of the server" };
/** Kind of a credential, and its number if it is not the first of its owner. */
const named = (c: { kind: string; number: number }): string => c.number > 1 ? `${c.kind} ${c.number}` : c.kind;
const useAll = () => useQuery({ queryKey: ["credentials"], queryFn: () => unwrap(api.GET("/api/v1/credentials", { params: { query: { limit: 500 } } })) });
const useNames = () => new Map(useQuery({ queryKey: ["projects"], queryFn: getProjects, staleTime: 30_000 }).data?.items.map((p) => [p.id, p.key]));

/** Credentials of model providers and Git hosts. They can be set, tested and deleted; no answer contains a secret. */
export function Credentials(): ReactNode {
  const all = useAll(), may = useMay("write");
  return (
    <>
      <p className="muted">A task uses the first that exists: of its user, its project, the organization, the configuration. While one is rate limited, the next number of the same owner and kind takes over. The server never shows a secret again.</p>
      {all.error !== null && <p className="notice bad" role="alert"><Text of={said(all.error)} /></p>}
      <section className="panel" aria-label="Credentials">
        {all.data === undefined ? <p className="muted empty">{all.error === null && "Loading…"}</p> : all.data.items.length === 0 && <p className="muted empty">No credentials yet.</p>}
        {all.data?.items.map((c) => <Row key={`${c.scope} ${c.project_id} ${named(c)}`} of={c} />)}
      </section>
      {may && <SetCredential />}
    </>
  );
}

function Row({ of }: { of: Credential }): ReactNode {
  const may = useMay("write"), admin = useMay("admin"), [asked, ask] = useState(false), names = useNames();
  const test = useMutation({ mutationFn: () => unwrap(api.POST("/api/v1/credentials/{kind}/test", { params: { path: { kind: of.kind } }, body: { number: of.number, ...(of.project_id !== undefined && { project_id: of.project_id }) } })) });
  const stored = of.scope === "user" || of.scope === "project" || of.scope === "organization", mine = may && stored && (of.scope === "user" || admin);
  return (
    <article className="entry" aria-label={`${named(of)} of ${of.scope}`}>
      <div className="grow">
        <p><span className="strong"><Text of={named(of)} /></span> of {owners[of.scope] ?? of.scope} {of.project_id !== undefined && (names.get(of.project_id) ?? of.project_id)} <code><Text of={of.masked} /></code></p>
        <p className="muted small">
          {of.updated_at === undefined ? "configured" : <>set <Clock at={of.updated_at} whole /></>}{of.used_at !== undefined && <>, last used <Clock at={of.used_at} whole /></>}
          {of.model !== undefined && <> · model <Text of={of.model} /></>}{of.base_url !== undefined && <> · <Text of={of.base_url} /></>}
        </p>
        {of.resets_at !== undefined && <p className="s-needs small">Rate limited until <Clock at={of.resets_at} whole /></p>}
        {of.state !== "valid" && <p className="bad small">{of.state === "undecryptable" ? "The server cannot decrypt this credential. Next: set the credential again." : of.state}</p>}
        <p role="status" className="small">{test.data !== undefined && <><b className={test.data.state === "valid" ? "s-done" : "bad"}>{test.data.state}</b> ({named(test.data)} of {owners[test.data.scope] ?? test.data.scope}): <Text of={test.data.message} /></>}{test.error !== null && <span className="bad"><Text of={said(test.error)} /></span>}</p>
      </div>
      {may && (
        <div className="spread">
          <button disabled={test.isPending} title="Tests the credential that a task of yours would use" onClick={() => test.mutate()}>{test.isPending ? "Testing…" : "Test"}</button>
          {mine && <button className="danger" onClick={() => ask(true)}>Delete…</button>}
        </div>
      )}
      {asked && <Delete of={of} close={() => ask(false)} />}
    </article>
  );
}

function Delete({ of, close }: { of: Credential; close: () => void }): ReactNode {
  const client = useQueryClient(), query = { scope: of.scope as Owner, number: of.number, ...(of.project_id !== undefined && { project_id: of.project_id }) };
  const send = useMutation({ mutationFn: () => unwrap(api.DELETE("/api/v1/credentials/{kind}", { params: { path: { kind: of.kind }, query } })), onSuccess: close, onSettled: () => client.invalidateQueries() });
  return (
    <Dialog key={send.failureCount} title={`Delete ${named(of)} of ${owners[of.scope]}?`} yes="Delete the credential" danger submit={() => send.mutate()} close={close}>
      <ul><li>Tasks then use the next number, else the next one: of the user, the project, the organization, the configuration.</li><li>Running sandboxes keep theirs.</li></ul>
      {send.error !== null && <p className="bad" role="alert"><Text of={said(send.error)} /></p>}
    </Dialog>
  );
}

const kinds: Options = [["anthropic", "Anthropic API key"], ["claude_oauth", "Claude subscription token"], ["github", "GitHub token"], ["", "Another model provider"]];
const blank = { kind: "anthropic", other: "", scope: "user", project: "", secret: "", base_url: "", model: "", number: "", bearer: "" };
const places = { other: "path.kind", scope: "body.scope", project: "body.project_id", secret: "body.secret", base_url: "body.base_url", model: "body.model", number: "body.number", kind: "", bearer: "body.bearer" };

/** Sets a credential. The secret leaves the page with the request. */
function SetCredential(): ReactNode {
  const client = useQueryClient(), admin = useMay("admin"), [values, setValues] = useState(blank), [set, setSet] = useState("");
  const projects = useQuery({ queryKey: ["projects"], queryFn: getProjects, staleTime: 30_000 }).data?.items ?? [];
  const field = (name: keyof typeof blank) => ({ at: places[name], value: values[name], change: (to: string) => setValues({ ...values, [name]: to }) });
  const scopes: Options = [["user", "You"], ...(admin ? [["project", "A project"], ["organization", "The organization"]] as const : [])];
  const scope = values.scope as Owner, kind = values.kind || values.other;
  const send = () => unwrap(api.PUT("/api/v1/credentials/{kind}", {
    params: { path: { kind } }, body: {
      secret: values.secret, scope, ...(scope === "project" && { project_id: values.project }), ...(values.base_url !== "" && { base_url: values.base_url }),
      ...(values.model !== "" && { model: values.model }), ...(values.bearer !== "" && { bearer: true }), ...(values.number !== "" && { number: Number(values.number) }),
    },
  }));
  const done = (to: Credential): void => {
    setValues({ ...blank, kind: values.kind, scope });
    setSet(`${named(to)} of ${owners[to.scope]} is set.`);
    void client.invalidateQueries();
  };
  return (
    <section className="panel box-form">
      <h2>Set a credential</h2>
      <Form label="Set a credential" yes="Set the credential" send={send} done={done}>
        <div className="row-of">
          <Select label="Kind" options={kinds} {...field("kind")} />
          {values.kind === "" && <Input label="Name of the model provider" hint="Lower case, for example openai." spellCheck={false} {...field("other")} />}
        </div>
        <div className="row-of">
          <Select label="Owner" options={scopes} {...field("scope")} />
          {scope === "project" && <Select label="Project" options={[["", "Choose a project"], ...projects.map((p) => [p.id, `${p.key} · ${p.name}`] as const)]} {...field("project")} />}
        </div>
        <Input label="Secret" type="password" autoComplete="new-password" hint="The key or token itself. It replaces the one that is set." {...field("secret")} />
        <details className="fold-box">
          <summary>More settings</summary>
          <div className="fields">
            <Input label="Model" hint="Of tasks that name none. Empty: the agent decides." {...field("model")} />
            {values.kind !== "github" && <Input label="Number" type="number" min={1} max={9} hint="While credential 1 of this owner and kind is rate limited, tasks use 2, and so on. Empty: 1." {...field("number")} />}
            {values.kind !== "github" && values.kind !== "claude_oauth" && <Input label="URL of a compatible endpoint" spellCheck={false} {...field("base_url")} />}
            {values.kind === "anthropic" && <Check label="Send the key as Authorization: Bearer" checked={values.bearer !== ""} change={(to) => setValues({ ...values, bearer: to ? "true" : "" })} />}
          </div>
        </details>
        <p role="status">{set}</p>
      </Form>
    </section>
  );
}
