import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useRef, type ReactNode } from "react";

import { useInfo } from "../banners";
import { api, codeOf, getTask, OmoiError, said, unwrap, type Task } from "../lib/api";
import { FaultsOf, Rest } from "../lib/fields";
import { newKey } from "../lib/key";
import { sendByKey, sendKeys } from "../lib/keyboard";
import { useMay, useOut, useSession } from "../lib/session";
import { useSettled } from "../lib/settled";
import { useTasksById } from "../lib/tasks";
import { Text } from "../lib/text";
import { useFaults } from "../lib/use-faults";
import { useDraft } from "./draft";
import { Fields } from "./fields";
import { empty, locations, requestOf, valuesOf, type TaskRequest, type Values } from "./form";
import { remember, usePreview, useProjects } from "./queries";
import { agentError, Outlook } from "./outlook";

/** A form for a new task, empty or like another task. */
export function NewTask(): ReactNode {
  const { from, project } = useSearch({ from: "/tasks/new" });
  const session = useSession(), may = useMay("write"), projects = useProjects();
  const source = useQuery({ queryKey: ["task", from], queryFn: () => getTask(from!), enabled: from !== undefined, staleTime: 60_000 });
  const after = useTasksById(source.data?.dependencies.depends_on ?? []), failed = source.error ?? after.error;
  useEffect(() => {
    document.title = "New task · omoi";
  }, []);
  if (session !== undefined && !may) {
    return <div className="empty"><h1>New task</h1><p>Your key reads only. Next: sign in with a key that has the scope write.</p><p><Link to="/tasks">All tasks</Link></p></div>;
  }
  if (failed !== null) {
    return <div className="empty" role="alert"><h1>New task</h1><p className="muted"><Text of={said(failed)} /></p><p><Link to="/tasks/new">Begin with an empty form</Link></p></div>;
  }
  if (session === undefined || projects === undefined || from !== undefined && source.data === undefined || after.tasks === undefined) {
    return <p className="muted empty">Loading…</p>;
  }
  const first = projects.find((p) => p.id === project || p.key === project) ?? projects[0];
  return <Form key={from ?? ""} like={source.data} begin={() => (source.data === undefined ? { ...empty, project: first?.id ?? "" } : valuesOf(source.data, after.tasks!))} />;
}

function Form({ like, begin }: { like?: Task; begin: () => Values }): ReactNode {
  const draft = useDraft(like?.key ?? "", begin), form = useRef<HTMLFormElement>(null);
  const { send, creation } = useCreation(draft.drop), { error } = creation, out = useOut(), info = useInfo().data;
  const [faults, setFaults] = useFaults(form, !out && isLogin(error) ? null : error);
  useEffect(() => form.current?.querySelector("textarea")?.focus(), []);
  const request = requestOf(draft.values, draft.values.agent || info?.default_agent), settled = JSON.parse(useSettled(JSON.stringify(request), 400)) as TaskRequest;
  const preview = usePreview(settled).data, agentless = draft.values.agent === "" && preview !== undefined && agentError(preview) !== undefined;
  const change = (to: Partial<Values>): void => {
    draft.change(to);
    const at = Object.fromEntries(Object.entries(faults.at).filter(([location]) => !Object.keys(to).some((f) => locations[f as keyof Values] === location)));
    setFaults({ at, rest: [] });
  };
  const create = (more: Partial<TaskRequest> = {}, key = draft.key): void => {
    draft.keep(key);
    send({ request: { ...request, check_duplicates: true, ...more }, key });
  };
  const code = codeOf(error);
  return (
    <FaultsOf value={faults}>
      <div className="spread list-head">
        <h1>New task</h1>
        {like !== undefined && <span className="muted">like <Link to="/tasks/$id" params={{ id: like.key }}>{like.key}</Link></span>}
        <button type="button" className="text" onClick={() => { draft.reset(); creation.reset(); }}>Clear</button>
      </div>
      {like !== undefined && Object.keys(like.execution_config.env ?? {}).length > 0 && <p className="notice list-head">The environment variables of {like.key} are hidden, and not copied: {Object.keys(like.execution_config.env!).join(", ")}.</p>}
      <form ref={form} className="beside" aria-label="New task" noValidate onKeyDown={sendByKey} onSubmit={(e) => { e.preventDefault(); if (!agentless) { create(); } }}>
        <fieldset disabled={creation.isPending} className="fields"><Fields values={draft.values} change={change} /></fieldset>
        <Outlook values={draft.values} request={settled} />
        <div className="fields">
          <Rest />
          {creation.isPending && creation.failureCount > 0 && <p className="notice" role="status">The server has not answered. Trying again: repeated requests create one task.</p>}
          <div className="spread">
            <button className="primary" disabled={creation.isPending || agentless} aria-describedby={agentless ? "agentless" : undefined}>Create task</button>
            {agentless && <span id="agentless">Choose an agent first.</span>}
            <span className="muted small wide">{sendKeys}</span>
            {code === "duplicate_work" && <button type="button" onClick={() => create({ force_create: true })}>Create despite similar tasks</button>}
            {code === "idempotency_key_reused" && <button type="button" onClick={() => create({ force_create: true }, newKey())}>Create another task</button>}
          </div>
        </div>
      </form>
    </FaultsOf>
  );
}

const isLogin = (error: unknown): boolean => error instanceof OmoiError && error.problem.status === 401;

interface Sending { request: TaskRequest; key: string }

/** Creates one task: of a double click one request is sent, and a request without an answer is repeated with its key. */
function useCreation(done: () => void) {
  const client = useQueryClient(), navigate = useNavigate(), busy = useRef(false);
  const creation = useMutation({
    mutationFn: ({ request, key }: Sending) => unwrap(api.POST("/api/v1/tasks", { params: { header: { "Idempotency-Key": key } }, body: request })),
    retry: (failures, error) => failures < 8 && !(error instanceof OmoiError && error.problem.status < 500),
    retryDelay: (failures) => Math.min(10_000, 300 * 2 ** failures),
    onSuccess: (task) => {
      done();
      remember(task.project_id);
      void client.invalidateQueries();
      void navigate({ to: "/tasks/$id", params: { id: task.key } });
    },
    onSettled: () => {
      busy.current = false;
    },
  });
  const send = (sending: Sending): void => {
    if (!busy.current) {
      busy.current = true;
      creation.mutate(sending);
    }
  };
  return { send, creation };
}
