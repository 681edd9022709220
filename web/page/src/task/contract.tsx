import type { Schemas } from "@omoi/client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Fragment, useState, type ReactNode } from "react";

import { getContract, said, setContract, type Task } from "../lib/api";
import { Area, Form } from "../lib/fields";
import { Clock, Text } from "../lib/text";

type Contract = Schemas["TaskContract"];

/** A contract as text, and the version that it was made from. */
interface Draft { text: string; version: number }

const draftOf = (c: Contract): Draft => ({ text: c.text, version: c.versions[0]?.version ?? 0 });

const names = {
  allowed_paths: "Only these paths may change", forbidden_paths: "Paths that must not change", forbidden_commands: "Commands that must not run",
  tests_may_change: "Tests may change", change_wanted: "A change is wanted", test_command: "Shows that it is done", constraints: "Other limits",
} as const;
/** What a contract says nothing about, as a part of a sentence. */
const subjects = {
  allowed_paths: "paths that may change", forbidden_paths: "paths that must not change", forbidden_commands: "commands that must not run",
  tests_may_change: "whether tests may change", change_wanted: "whether a change is wanted", test_command: "what shows that it is done",
} as const;
const keys = Object.keys(names) as (keyof typeof names)[];

/** What the task may change and run, and what shows that it is done. Users change it while the task is open. */
export function TaskContract({ task }: { task: Task }): ReactNode {
  const key = ["contract", task.id], client = useQueryClient();
  const query = useQuery({ queryKey: key, queryFn: () => getContract(task.id) }), contract = query.data;
  const [draft, edit] = useState<Draft>();
  const store = (d: Draft) => setContract(task.id, d.text, d.version);
  const stored = (to: Contract): void => { client.setQueryData(key, to); edit(undefined); };
  const accepting = useMutation({ mutationFn: store, onSuccess: stored, onSettled: () => void client.invalidateQueries({ queryKey: key }) });
  return (
    <section className="panel" aria-label="Task contract">
      <h2>Task contract</h2>
      {query.error !== null && contract === undefined && <p className="message bad"><Text of={said(query.error)} /></p>}
      {contract !== undefined && draft === undefined && <Shown of={contract} />}
      {contract !== undefined && draft === undefined && task.completed_at === null && (
        <div className="message spread">
          <button onClick={() => edit(draftOf(contract))}>Change</button>
          {contract.proposed !== undefined && <button disabled={accepting.isPending} onClick={() => accepting.mutate(draftOf(contract))}>Accept what is proposed</button>}
          {accepting.error !== null && <span className="bad" role="alert"><Text of={said(accepting.error)} /></span>}
        </div>
      )}
      {draft !== undefined && (
        <div className="message">
          <Form label="Task contract" yes="Store the contract" send={() => store(draft)} done={stored} cancel={() => edit(undefined)}>
            <Area label="Contract as YAML" at="body.contract" rows={10} mono value={draft.text} change={(text) => edit({ ...draft, text })} hint={<>Keys: {keys.join(", ")}. What you leave out is not set. The next attempt gets the contract; a running agent is not told.</>} />
          </Form>
        </div>
      )}
    </section>
  );
}

function Shown({ of }: { of: Contract }): ReactNode {
  const newest = of.versions[0], known = keys.filter((k) => of.accepted[k] !== undefined || of.proposed?.[k] !== undefined);
  const unset = (Object.keys(subjects) as (keyof typeof subjects)[]).filter((k) => !known.includes(k));
  return (
    <>
      <dl className="defs">
        {known.map((k) => <Fragment key={k}><dt>{names[k]}</dt><dd><Value of={of.accepted[k] ?? of.proposed?.[k]} />{of.accepted[k] === undefined && <span className="muted"> proposed by a model, not accepted</span>}</dd></Fragment>)}
      </dl>
      {unset.length > 0 && <p className="message muted">The contract sets nothing for: {unset.map((k) => subjects[k]).join("; ")}.</p>}
      {newest !== undefined && <p className="message muted small">Version {newest.version} by {newest.author === "model" && "model "}<Text of={newest.author_name} /> <Clock at={newest.created_at} /></p>}
    </>
  );
}

function Value({ of }: { of: string | boolean | string[] | undefined }): ReactNode {
  if (typeof of === "boolean") {
    return of ? "yes" : "no";
  }
  return (typeof of === "string" ? [of] : of ?? []).map((item) => <div key={item}><code><Text of={item} /></code></div>);
}
