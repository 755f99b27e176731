// A small host of agent protocol v1.
//
//     node dist/host.js [--cancel-after N] CAPABILITY JSON -- CMD ARG...
//
// Starts CMD, sends one request, prints each event on stderr and the output
// on stdout. With --cancel-after it cancels the request after N events. Exit
// code: 0 completed, 1 an error, 3 cancelled.

import { spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { parseArgs } from "node:util";

import { ProtocolError, read, Writer } from "./envelope.js";

const REQUEST_ID = "r1";
const GRACE_MS = 5000;

async function talk(input: Readable, output: Writable, operation: string, json: string, cancelAfter: number): Promise<number> {
  const out = new Writer(output);
  out.send({ kind: "hello", capabilities: [operation], implementation: "example-typescript-host 1.0" });
  let greeted = false;
  let events = 0;
  for await (const envelope of read(input)) {
    switch (envelope.kind) {
      case "hello":
        if (greeted) throw new ProtocolError("UNEXPECTED_MESSAGE", "a second hello");
        greeted = true;
        if (!envelope.capabilities.includes(operation)) {
          console.error(`UNSUPPORTED_CAPABILITY: ${operation}`);
          return 1;
        }
        out.send({ kind: "request", requestId: REQUEST_ID, operation, input: JSON.parse(json) });
        break;
      case "error":
        console.error(`${envelope.code}: ${envelope.message}`);
        return 1;
      case "cancel":
        out.send({ kind: "cancel", requestId: REQUEST_ID });
        break;
      case "request":
        throw new ProtocolError("UNEXPECTED_MESSAGE", "a request");
      case "event":
        if (!greeted || envelope.requestId !== REQUEST_ID) throw new ProtocolError("UNEXPECTED_MESSAGE", envelope.event);
        if (envelope.event === "completed") {
          console.log(JSON.stringify(envelope.output ?? {}));
          return 0;
        }
        if (envelope.event === "cancelled") return 3;
        console.error(envelope.event, JSON.stringify(envelope.output));
        if (++events === cancelAfter) out.send({ kind: "cancel", requestId: REQUEST_ID });
    }
  }
  console.error("PROCESS_FAILURE: the agent ended");
  return 1;
}

const { values, positionals } = parseArgs({ options: { "cancel-after": { type: "string", default: "0" } }, allowPositionals: true });
const [operation, json, program, ...args] = positionals;
if (!operation || !json || !program) {
  console.error("usage: host.js [--cancel-after N] CAPABILITY JSON -- CMD ARG...");
  process.exit(2);
}
const agent = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
try {
  process.exitCode = await talk(agent.stdout, agent.stdin, operation, json, Number(values["cancel-after"]));
} catch (e) {
  if (!(e instanceof ProtocolError)) throw e;
  console.error(`MALFORMED_PROTOCOL: ${e.message}`);
  process.exitCode = 1;
}
agent.stdin.end();
setTimeout(() => agent.kill("SIGKILL"), GRACE_MS).unref();
