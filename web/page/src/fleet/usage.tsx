import type { Schemas } from "@omoi/client";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { getProjectBudget } from "../lib/api";
import { count, duration, grouped, many, usd } from "../lib/format";
import { Limit } from "../lib/limit";
import { exactly } from "../lib/links";
import { marked } from "../lib/text";
import { Answer, Panel, Table } from "./parts";
import { Plot } from "./plot";
import { useCapacity, useUsage } from "./queries";
import { periods, type FleetSearch } from "./search";

type Day = Schemas["DayUsage"];

/** Cost and tokens by day, and the budget of a project. */
export function UsageTab(): ReactNode {
  const search = useSearch({ from: "/fleet" }), days = search.days ?? 30;
  const tokens = search.by === "tokens", shown = (d: Day): string => (tokens ? `${count(d.tokens)} tokens` : usd(d.usd, d.cost_unknown));
  return (
    <>
      <Choices search={search} />
      {search.project !== undefined && <ProjectBudget id={search.project} />}
      <Panel title={tokens ? "Tokens by day" : "Cost of models by day"} aside={<span className="small muted">days in UTC, by the start of the attempt</span>}>
        <Answer of={useUsage(days, search.project)}>{(u) => (
          <>
            <p className="message"><strong>{shown(u.total)}</strong> <span className="muted">in {days} days, {many(u.total.attempts, "attempt")}</span></p>
            <Plot label={`${tokens ? "Tokens" : "Cost of models"} by day; the table below has the figures`} bars={u.days.map((d) => ({ day: d.day, height: tokens ? d.tokens : d.usd ?? 0, text: `${d.day}: ${shown(d)}`, unsure: !tokens && d.cost_unknown }))} top={(n) => (tokens ? count(Math.round(n)) : usd(n))} />
            <details className="message"><summary>Figures</summary>
              <Table label="Usage by day" items={[...u.days].reverse()} id={(d) => d.day} empty="" columns={[
                { head: "Day", cell: (d) => d.day }, { head: "Attempts", cell: (d) => grouped(d.attempts), right: true },
                { head: "Tokens", cell: (d) => grouped(d.tokens), right: true }, { head: "Cost", cell: (d) => usd(d.usd, d.cost_unknown), right: true },
              ]} />
            </details>
          </>
        )}</Answer>
      </Panel>
    </>
  );
}

function Choices({ search }: { search: FleetSearch }): ReactNode {
  const projects = useCapacity().data?.projects ?? [], navigate = useNavigate(), days = search.days ?? 30;
  const chip = (word: string, to: FleetSearch, current: boolean): ReactNode => (
    <Link key={word} className="chip" to="/fleet" search={{ ...search, ...to }} aria-current={current ? "true" : undefined} activeOptions={exactly}>{word}</Link>
  );
  return (
    <nav className="chips" aria-label="Period and unit">
      {periods.map((p) => chip(`${p} days`, { days: p }, p === days))}
      {chip("Cost", { by: undefined }, search.by === undefined)}
      {chip("Tokens", { by: "tokens" }, search.by === "tokens")}
      <select aria-label="Project" value={search.project ?? ""} onChange={(e) => void navigate({ to: "/fleet", search: { ...search, project: e.target.value || undefined } })}>
        <option value="">All projects</option>
        {projects.map((p) => <option key={p.id} value={p.id}>{p.key} · {marked(p.name)}</option>)}
      </select>
    </nav>
  );
}

/** What all tasks of a project have used of the budget that they share. */
function ProjectBudget({ id }: { id: string }): ReactNode {
  const query = useQuery({ queryKey: ["project-budget", id], queryFn: () => getProjectBudget(id), refetchInterval: 10_000 });
  return (
    <Panel title="Budget of the project">
      <Answer of={query}>{({ used, budget }) => (
        <dl className="defs">
          <Pair word="Cost" used={used.usd} limit={budget.usd} shown={usd(used.usd, used.cost_unknown)} of={(n) => usd(n)} />
          <Pair word="Tokens" used={used.tokens} limit={budget.tokens} shown={count(used.tokens)} of={count} />
          <Pair word="Sandbox time" used={used.sandbox_s} limit={budget.sandbox_s} shown={duration(used.sandbox_s * 1000)} of={(n) => duration(n * 1000)} />
        </dl>
      )}</Answer>
    </Panel>
  );
}

function Pair(props: { word: string; used: number | null; limit?: number; shown: string; of: (n: number) => string }): ReactNode {
  return <><dt>{props.word}</dt><dd><Limit {...props} />{!props.limit && <span className="muted">, no limit</span>}</dd></>;
}
