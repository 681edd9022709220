import type { ReactNode } from "react";

import { LastReceipt, WithReceipts } from "../fleet/act";
import { Interventions } from "../fleet/interventions";
import { Verdicts } from "../fleet/verdicts";

/** What the guardian said of a task and did to its agents, to be rated. */
export default function Supervised({ task }: { task: string }): ReactNode {
  return <WithReceipts><LastReceipt /><Interventions task={task} /><Verdicts task={task} /></WithReceipts>;
}
