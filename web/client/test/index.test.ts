import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";

import { createOmoiClient, items, OmoiError, taskChanges, taskEvents, unwrap } from "../src/index.js";

// The server of OMOI_API_URL runs one task of the scripted agent in the repository OMOI_TEST_REPO; without it only what needs no server is tested.
const baseUrl = process.env.OMOI_API_URL;
const options = { baseUrl: baseUrl ?? "", token: process.env.OMOI_API_KEY };

test("a task runs to its end", { skip: baseUrl === undefined }, async () => {
  const client = createOmoiClient(options);
  const task = await unwrap(client.POST("/api/v1/tasks", {
    body: { repo: process.env.OMOI_TEST_REPO, description: "Say hello", agent: "scripted", execution_config: { script: { steps: [{ say: "hello" }, { complete: {} }] } } },
  }));
  const types: string[] = [];
  for await (const { event } of taskEvents(options, task.id)) {
    types.push(event.event_type);
  }
  assert.ok(types.includes("agent.started"));
  assert.ok(types.includes("agent.completed"));
  const ended = await unwrap(client.GET("/api/v1/tasks/{id}", { params: { path: { id: task.id } } }));
  assert.equal(ended.status, "completed");
});

test("lists are read over their pages", { skip: baseUrl === undefined }, async () => {
  const client = createOmoiClient(options);
  const ids = new Set<string>();
  for await (const task of items((cursor) => unwrap(client.GET("/api/v1/tasks", { params: { query: { limit: 1, cursor } } })))) {
    ids.add(task.id);
  }
  assert.ok(ids.size > 0);
});

test("an error answer is an OmoiError with its code", { skip: baseUrl === undefined }, async () => {
  const client = createOmoiClient(options);
  const unknown = client.GET("/api/v1/tasks/{id}", { params: { path: { id: "00000000-0000-4000-8000-000000000000" } } });
  await assert.rejects(unwrap(unknown), (error: OmoiError) => error.problem.code === "not_found");
});

test("a stream continues behind its last event after a lost connection", async () => {
  const asked: (string | null)[] = [];
  const server = createServer((request, response) => {
    asked.push(new URL(request.url ?? "", "http://localhost").searchParams.get("after"));
    if (asked.length === 2) { // the server starts again
      request.socket.destroy();
      return;
    }
    if (asked.length === 3) {
      response.writeHead(503).end();
      return;
    }
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    const number = asked.length === 1 ? 1 : 2;
    response.write(`id: 1:${number}\ndata: {"sequence":${number}}\n\n`);
    if (number === 2) {
      response.end("event: end\ndata: {}\n\n");
    } else {
      setTimeout(() => response.destroy(), 50);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cursors: string[] = [];
  for await (const { cursor } of taskEvents({ baseUrl: url }, "t")) {
    cursors.push(cursor);
  }
  assert.deepEqual(cursors, ["1:1", "1:2"]);
  assert.deepEqual(asked, ["", "1:1", "1:1", "1:1"]);
});

test("a stream that the server refuses ends with its error", async () => {
  let asked = 0;
  const server = createServer((_, response) => {
    if (++asked === 1) {
      response.writeHead(200, { "Content-Type": "text/event-stream" }).end();
    } else {
      response.writeHead(410).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await assert.rejects(taskEvents({ baseUrl: url }, "t").next(), (error: OmoiError) => error.problem.status === 410);
});

test("a reader of changes is told to read the list first, after a lost connection, and when changes were left out", async () => {
  const asked: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url);
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.write(`event: hello\ndata: {}\n\nevent: task\ndata: {"version":${asked.length},"task":{"id":"a"}}\n\n`);
    if (asked.length === 1) {
      setTimeout(() => response.destroy(), 50);
    } else {
      response.write("event: reset\ndata: {}\n\n");
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => { server.closeAllConnections(); server.close(); });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const seen: (number | undefined)[] = [];
  for await (const change of taskChanges({ baseUrl: url }, "p")) {
    seen.push(change?.version);
    if (seen.length === 5) {
      break;
    }
  }
  assert.deepEqual(seen, [undefined, 1, undefined, 2, undefined]);
  assert.deepEqual(asked, Array(2).fill("/api/v1/tasks/stream?project_id=p"));
});
