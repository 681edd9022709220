import { Link, useSearch } from "@tanstack/react-router";
import { useEffect, type ReactNode } from "react";

import { exactly, useTabInView } from "../lib/links";
import { LastReceipt, WithReceipts } from "./act";
import { Capacity } from "./capacity";
import { Queue } from "./queue";
import { Sandboxes } from "./sandboxes";
import { tabs } from "./search";
import { Server } from "./server";
import { Summary } from "./summary";
import { Supervision } from "./supervision";
import { UsageTab } from "./usage";

const views = { capacity: Capacity, queue: Queue, sandboxes: Sandboxes, supervision: Supervision, usage: UsageTab, server: Server };

/** What the whole installation does: slots, queue, sandboxes, supervision, usage, and the server itself. */
export function Fleet(): ReactNode {
  const { tab = "capacity" } = useSearch({ from: "/fleet" });
  const View = views[tab];
  useTabInView(tab);
  useEffect(() => {
    document.title = "Fleet · omoi";
  }, []);
  return (
    <WithReceipts>
      <h1 className="list-head">Fleet</h1>
      <Summary />
      <nav className="tabs" aria-label="Views">
        {tabs.map((t) => <Link key={t.id} to="/fleet" search={{ tab: t.id }} aria-current={tab === t.id ? "page" : undefined} activeOptions={exactly}>{t.word}</Link>)}
      </nav>
      <LastReceipt />
      <div className="fleet-view"><View /></div>
    </WithReceipts>
  );
}
