import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import { api, getProjects, unwrap } from "../lib/api";
import { Check, Form, Input, Select, type Options } from "../lib/fields";
import { useMay } from "../lib/session";
import { wordOfEvent } from "./notices";

const kinds: Options = [["slack", "Slack, or a compatible program"], ["ntfy", "ntfy"], ["email", "E-mail"], ["webhook", "Webhook"]];
const events = ["started", "needs_you", "done", "failed", "budget_near", "limit_reached"];
const blank = { channel: "slack", address: "", secret: "", project: "", scope: "user", events: ["needs_you", "done", "failed"] };
const places = { channel: "body.channel", address: "body.address", secret: "body.secret", project: "body.project_id", scope: "body.scope" };
const addresses: Record<string, string> = { slack: "URL of the incoming webhook.", ntfy: "URL of the topic.", email: "The e-mail address.", webhook: "Any URL." };
const secrets: Record<string, [label: string, hint: string] | undefined> = {
  webhook: ["Secret", "16 or more characters, with which the receiver checks the signature of each notice."],
  ntfy: ["Access token", "Empty: the topic needs none."],
};

/** Creates a rule. Address and secret leave the page with the request. */
export function CreateRule(): ReactNode {
  const client = useQueryClient(), admin = useMay("admin"), [values, setValues] = useState(blank), [made, setMade] = useState("");
  const projects = useQuery({ queryKey: ["projects"], queryFn: getProjects, staleTime: 30_000 }).data?.items ?? [];
  const field = (name: keyof typeof places) => ({ at: places[name], value: values[name], change: (to: string) => setValues({ ...values, [name]: to }) });
  const secret = secrets[values.channel], all: Options = [["", "All projects"], ...projects.map((p) => [p.id, `${p.key} · ${p.name}`] as const)];
  const send = () => unwrap(api.POST("/api/v1/notice-rules", {
    body: {
      channel: values.channel as "slack", address: values.address, events: values.events, scope: values.scope as "user",
      ...(secret !== undefined && values.secret !== "" && { secret: values.secret }), ...(values.project !== "" && { project_id: values.project }),
    },
  }));
  const toggle = (event: string, on: boolean): void => setValues({ ...values, events: events.filter((e) => (e === event ? on : values.events.includes(e))) });
  return (
    <section className="panel box-form">
      <h2>Create a notice rule</h2>
      <Form label="Create a notice rule" yes="Create the rule" send={send} done={(rule) => {
        setValues({ ...blank, channel: values.channel });
        setMade(`The rule for ${rule.receiver} is created.`);
        void client.invalidateQueries({ queryKey: ["notice-rules"] });
      }}>
        <div className="row-of">
          <Select label="Channel" options={kinds} {...field("channel")} />
          <Select label="Project" options={all} {...field("project")} />
          {admin && <Select label="Tasks" options={[["user", "Your tasks"], ["organization", "Tasks of all users"]]} {...field("scope")} />}
        </div>
        <Input label="Address" type="password" autoComplete="new-password" hint={addresses[values.channel]} {...field("address")} />
        {secret !== undefined && <Input label={secret[0]} type="password" autoComplete="new-password" hint={secret[1]} {...field("secret")} />}
        <fieldset className="row-of">
          <legend>Events</legend>
          {events.map((e) => <Check key={e} label={wordOfEvent(e)} checked={values.events.includes(e)} change={(on) => toggle(e, on)} />)}
        </fieldset>
        <p role="status">{made}</p>
      </Form>
    </section>
  );
}
