import { useQuery } from "@tanstack/react-query";

import { findEvents, said } from "../lib/api";

const most = 1000;
const results = ["agent.tool_use", "agent.tool_completed", "agent.tool_result", "agent.user_tool_result", "agent.setup_started", "agent.setup_completed"];

/** The events of commands whose texts hold what is searched for, oldest first; found is undefined while the server searches. */
export function useSearchIn(sandbox: string, find: string): { found: number[] | undefined; problem?: string } {
  const query = useQuery({ queryKey: ["event-search", sandbox, find], queryFn: () => search(sandbox, find), enabled: find !== "", staleTime: 5000 });
  return { found: find === "" ? [] : query.data, problem: query.error === null ? undefined : said(query.error) };
}

async function search(sandbox: string, find: string): Promise<number[]> {
  const found: number[] = [];
  for (let after: number | null = 0; after !== null && found.length < most;) {
    const answer: Awaited<ReturnType<typeof findEvents>> = await findEvents(sandbox, find, after, results);
    found.push(...answer.items.map((i) => i.sequence));
    after = answer.next_after;
  }
  return found;
}
