import { brotliCompressSync, constants } from "node:zlib";

import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/** Adds the form compressed by brotli of each file to the output, if that form is shorter. */
function brotli(): Plugin {
  return {
    name: "brotli",
    generateBundle: {
      order: "post",
      handler(_, bundle) {
        for (const [name, file] of Object.entries(bundle)) {
          const content = Buffer.from(file.type === "chunk" ? file.code : file.source);
          const packed = brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length } });
          if (packed.length < content.length && !name.endsWith(".png")) {
            this.emitFile({ type: "asset", fileName: `${name}.br`, source: packed });
          }
        }
      },
    },
  };
}

export default defineConfig({
  plugins: [react(), brotli()],
  build: {
    outDir: "../../api/ui/dist",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0, // no data: files
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "page", tags: ["$initial"] }] } } }, // one script before the first paint
  },
  test: { include: ["test/**/*.test.ts"], testTimeout: 60_000 },
} as Parameters<typeof defineConfig>[0]);
