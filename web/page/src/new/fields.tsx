import type { ReactNode } from "react";

import { useInfo } from "../banners";
import { Area, Input, Select, type Options } from "../lib/fields";
import { inWords } from "../lib/isolation";
import { keys, locations, type Values } from "./form";
import { useIsolation, useOpenTasks, useProjects } from "./queries";

interface Props { values: Values; change: (to: Partial<Values>) => void }

const modes: Options = [["", "Server default"], ["implementation", "Implementation: changes the repository"], ["exploration", "Exploration: reports"], ["validation", "Validation: reviews"]];
const yesNo = (unset: string): Options => [["", unset], ["true", "Yes"], ["false", "No"]];
const priorities: Options = [["", "Server default: medium"], ["CRITICAL", "Critical"], ["HIGH", "High"], ["MEDIUM", "Medium"], ["LOW", "Low"]];

/** The fields of a new task; those that few tasks need are folded. */
export function Fields({ values, change }: Props): ReactNode {
  const field = (name: keyof Values) => ({ at: locations[name], value: values[name], change: (to: string) => change({ [name]: to }) });
  return (
    <>
      <Area label="What should the agent do?" rows={6} {...field("description")} />
      <Input label="Title" hint="If you leave it empty, omoi takes the first line of the text above." {...field("title")} />
      <Place values={values} change={change} />
      <Runner values={values} change={change} />
      <Select label="Mode" options={modes} {...field("mode")} />
      <fieldset className="row-of">
        <legend>Budget of all attempts together</legend>
        <Input label="USD" type="number" min={0} step="any" placeholder="no limit" {...field("usd")} />
        <Input label="Tokens" type="number" min={0} placeholder="no limit" {...field("tokens")} />
        <Input label="Minutes" type="number" min={0} step="any" placeholder="no limit" {...field("minutes")} />
      </fieldset>
      <After values={values} change={change} />
      <details className="fold-box">
        <summary>More settings</summary>
        <div className="fields">
          <Select label="Priority" options={priorities} {...field("priority")} />
          <Input label="Deadline" type="datetime-local" hint="Raises the task in the queue; nothing is stopped at that time." {...field("deadline")} />
          <Input label="Retries" type="number" min={0} hint="Attempts that may follow failed ones. Empty: the server default." {...field("retries")} />
          <Select label="Repeat the work until the checks pass" options={yesNo("Server default")} {...field("continuous")} />
          <Select label="Wait for messages after the work" options={yesNo("Server default: no")} {...field("wait")} />
          <Select label="Validate the work before publish" options={yesNo("As the project says")} {...field("validate")} />
          <Input label="Test command" hint="Exit code 0: the tests passed." {...field("tests")} />
          <Area label="Setup command" mono rows={2} hint="Runs before the agent. Empty: that of the project." {...field("setup")} />
          <Input label="Credentials" hint="Kinds, for example model, github. Empty: what the agent needs." {...field("credentials")} />
          <Area label="Paths that the agent may change" mono rows={2} hint="One pattern a line. Empty: all." {...field("allowed")} />
          <Area label="Paths that the agent must not change" mono rows={2} hint="One pattern a line." {...field("forbidden")} />
          <Area label="Commands that the agent must not run" mono rows={2} hint="One beginning of a command a line." {...field("commands")} />
          <Area label="Constraints" rows={2} hint="One sentence a line." {...field("constraints")} />
        </div>
      </details>
    </>
  );
}

/** The project of the task, or a repository whose project is found or created. */
function Place({ values, change }: Props): ReactNode {
  const projects = useProjects() ?? [];
  const known = values.project === "" || projects.some((p) => p.id === values.project);
  const options: Options = [
    ...projects.map((p) => [p.id, `${p.key} · ${p.name}${p.paused ? " (paused)" : ""}`] as const),
    ...(known ? [] : [[values.project, `A project that is not listed: ${values.project}`] as const]),
    ["", projects.length > 0 ? "Another repository" : "A repository"],
  ];
  return (
    <>
      <Select label="Project" at={locations.project} value={values.project} change={(project) => change({ project, repo: "" })} options={options} />
      {values.project === "" && <Input label="Repository" at={locations.repo} value={values.repo} change={(repo) => change({ repo })} spellCheck={false}
        hint="owner/name or the address on GitHub, or the absolute path of a local one. Its project is found or created." />}
    </>
  );
}

/** Agent and sandbox, as the server offers them now. */
function Runner({ values, change }: Props): ReactNode {
  const info = useInfo().data, isolation = useIsolation(), agent = values.agent || info?.default_agent;
  const offered = (all: readonly string[], chosen: string): string[] => [...all, ...(chosen === "" || all.includes(chosen) ? [] : [chosen])];
  const agents = offered(info?.agents ?? [], values.agent), providers = offered(info?.sandboxes ?? [], values.provider), first = info?.sandboxes[0];
  const features = isolation.get(values.provider || (first ?? ""));
  return (
    <>
      <Select label="Agent" at={locations.agent} value={values.agent} change={(agent) => change({ agent })}
        options={[["", info?.default_agent ? `Server default: ${info.default_agent}` : "Server default"], ...agents.map((a) => [a, a] as const)]} />
      {agent === "command" && <Area label="Command" mono at={locations.command} value={values.command} change={(command) => change({ command })} hint="The program, then its arguments, one a line." />}
      {agent === "scripted" && <Area label="Script" mono rows={8} at={locations.script} value={values.script} change={(script) => change({ script })}
        placeholder={'{"steps": [{"say": "Hello."}, {"complete": {}}]}'} hint={<>JSON with the steps of the agent; docs/TASKS.md lists them.</>} />}
      <Select label="Sandbox" at={locations.provider} value={values.provider} change={(provider) => change({ provider })}
        options={[["", first === undefined ? "Server default" : `Server default: ${first}`], ...providers.map((p) => [p, p] as const)]}
        hint={features === undefined ? undefined : `Isolation of the newest sandbox: ${inWords(features)}.`} />
    </>
  );
}

/** The tasks after which this one starts: keys, with the open tasks of the project to choose from. */
function After({ values, change }: Props): ReactNode {
  const open = useOpenTasks(values.project), chosen = keys(values.after);
  return (
    <div className="row-of">
      <Input label="Start after these tasks" at={locations.after} value={values.after} change={(after) => change({ after })} placeholder="APP-12, APP-13" hint="They must be completed first." spellCheck={false} />
      {open.length > 0 && <Select label="Add an open task" at="" value="" change={(key) => change({ after: [...chosen, key].join(", ") })}
        options={[["", "Choose…"], ...open.filter((t) => !chosen.includes(t.key)).map((t) => [t.key, `${t.key} · ${t.title}`] as const)]} />}
    </div>
  );
}
