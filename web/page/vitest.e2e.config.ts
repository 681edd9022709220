import { defineConfig } from "vitest/config";

// The browser tests: each file starts an omoi of its own, one after the other.
export default defineConfig({ test: { include: ["e2e/**/*.test.ts"], testTimeout: 90_000, hookTimeout: 120_000, fileParallelism: false } });
