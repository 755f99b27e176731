// A small agent of agent protocol v1: `echo.text` and `count.up`.

import { setTimeout as sleep } from "node:timers/promises";

import { type Envelope, type Json, ProtocolError, read, Writer } from "./envelope.js";

type Request = Extract<Envelope, { kind: "request" }>;
type Operation = (request: Request, signal: AbortSignal) => Promise<Json>;

const out = new Writer(process.stdout);

const operations: { [name: string]: Operation } = {
  "echo.text": async (request) => request.input,

  // Counts to input.to, one `tick` every input.everyMs.
  "count.up": async (request, signal) => {
    const to = Number(request.input["to"] ?? 3);
    for (let n = 1; n <= to; n++) {
      await sleep(Number(request.input["everyMs"] ?? 0), undefined, { signal });
      out.send({ kind: "event", requestId: request.requestId, event: "tick", output: { n } });
    }
    return { counted: true };
  },
};

const running = new Map<string, AbortController>();
const retired = new Set<string>();
let offered: Set<string> | undefined;

async function run(request: Request, controller: AbortController): Promise<void> {
  const { requestId } = request;
  let end: Envelope;
  try {
    const output = await operations[request.operation]!(request, controller.signal);
    end = { kind: "event", requestId, event: "completed", output };
  } catch (e) {
    end = controller.signal.aborted
      ? { kind: "event", requestId, event: "cancelled" }
      : { kind: "error", requestId, code: "FAILED", message: String(e).slice(0, 1000) };
  }
  running.delete(requestId);
  retired.add(requestId);
  out.send(end);
}

function start(request: Request): void {
  const { requestId, operation } = request;
  if (running.has(requestId) || retired.has(requestId)) throw new ProtocolError("UNEXPECTED_MESSAGE", requestId);
  if (!offered?.has(operation) || !Object.hasOwn(operations, operation)) {
    retired.add(requestId);
    out.send({ kind: "error", requestId, code: "UNSUPPORTED_OPERATION", message: operation });
    return;
  }
  const controller = new AbortController();
  running.set(requestId, controller);
  void run(request, controller);
}

out.send({ kind: "hello", capabilities: Object.keys(operations), implementation: "example-typescript 1.0" });
try {
  for await (const envelope of read(process.stdin)) {
    if (envelope.kind === "hello" && !offered) offered = new Set(envelope.capabilities);
    else if (envelope.kind === "hello" || !offered || envelope.kind === "event") throw new ProtocolError("UNEXPECTED_MESSAGE", envelope.kind);
    else if (envelope.kind === "request") start(envelope);
    else if (envelope.requestId) running.get(envelope.requestId)?.abort(); // a cancel, or the host gave up
  }
} catch (e) {
  if (!(e instanceof ProtocolError)) throw e;
  out.send({ kind: "error", code: e.code, message: e.message });
  process.exitCode = 1;
}
for (const controller of running.values()) controller.abort();
