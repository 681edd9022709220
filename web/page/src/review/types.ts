import type { Schemas } from "@omoi/client";

export type Changes = Schemas["Changes"];
export type FileChange = Schemas["FileChange"];
export type FileDiff = Schemas["FileDiff"];
export type Hunk = Schemas["Hunk"];
