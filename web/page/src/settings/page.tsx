import { Link, useSearch } from "@tanstack/react-router";
import { useEffect, type ReactNode } from "react";

import { exactly } from "../lib/links";
import { useMay } from "../lib/session";
import { Credentials } from "./credentials";
import { General } from "./general";
import { Keys } from "./keys";
import { Notices } from "./notices";
import { Projects } from "./projects";
import { tabs, type Tab } from "./search";

const words: Record<Tab, string> = { general: "General", projects: "Projects", credentials: "Credentials", notices: "Notices", keys: "API keys" };
const parts: Record<Tab, () => ReactNode> = { general: General, projects: Projects, credentials: Credentials, notices: Notices, keys: Keys };

/** Settings of this browser, and of the server as far as the caller may see them. */
export function Settings(): ReactNode {
  const { tab = "general" } = useSearch({ from: "/settings" }), admin = useMay("admin");
  useEffect(() => {
    document.title = `${words[tab]} · Settings · omoi`;
  }, [tab]);
  const Part = parts[tab];
  return (
    <>
      <h1>Settings</h1>
      <nav className="tabs" aria-label="Parts of the settings">
        {tabs.filter((t) => t !== "keys" || admin).map((t) => (
          <Link key={t} to="/settings" search={{ tab: t === "general" ? undefined : t }} aria-current={t === tab ? "page" : undefined} activeOptions={exactly}>{words[t]}</Link>
        ))}
      </nav>
      <div className="parts"><Part /></div>
    </>
  );
}
