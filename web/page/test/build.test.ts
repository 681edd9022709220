import { build, type Rollup } from "vite";
import { expect, test } from "vitest";

test("one script and one style sheet come before the first paint", async () => {
  const { output } = await build({ root: new URL("..", import.meta.url).pathname, logLevel: "silent", build: { write: false } }) as Rollup.RollupOutput;
  const index = output.find((file) => file.fileName === "index.html") as Rollup.OutputAsset;
  expect(String(index.source).match(/(?<=")\/assets\/[^"]+/g)?.map((file) => file.replace(/.*\./, ""))).toEqual(["js", "css"]);
}, 120_000);
