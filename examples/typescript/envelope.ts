// Agent protocol v1 for TypeScript, without dependencies: what both sides
// share. The schema and fixtures are in schemas/agent-protocol/v1.

import type { Readable, Writable } from "node:stream";

const LINE_BYTES = 1 << 20;
const ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;
const CAPABILITY = /^[a-z][a-z0-9.-]{0,127}$/;
const CODE = /^[A-Z][A-Z0-9_]{0,63}$/;
const VERSION = /^(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

export type Json = { [key: string]: unknown };

export type Envelope =
  | { kind: "hello"; capabilities: string[]; implementation?: string }
  | { kind: "request"; requestId: string; operation: string; input: Json }
  | { kind: "event"; requestId: string; event: string; output?: Json }
  | { kind: "cancel"; requestId: string }
  | { kind: "error"; requestId?: string; code: string; message: string; retryable?: boolean };

/** The peer broke the protocol; `code` is the parse-level code. */
export class ProtocolError extends Error {
  constructor(readonly code: string, detail: string) {
    super(`${code}: ${detail}`);
  }
}

const object = (v: unknown): v is Json => typeof v === "object" && v !== null && !Array.isArray(v);
const text = (pattern: RegExp) => (v: unknown) => typeof v === "string" && pattern.test(v);
const names = (v: unknown) => Array.isArray(v) && v.every(text(CAPABILITY)) && new Set(v).size === v.length;
const optional = (check: (v: unknown) => boolean) => (v: unknown) => v === undefined || check(v);

/** The fields of each kind, in the order of the specification. */
const FIELDS: { [kind: string]: [string, (v: unknown) => boolean][] } = {
  hello: [["capabilities", names]],
  request: [["requestId", text(ID)], ["operation", text(CAPABILITY)], ["input", object]],
  event: [["requestId", text(ID)], ["event", text(CAPABILITY)], ["output", optional(object)]],
  cancel: [["requestId", text(ID)]],
  error: [["requestId", optional(text(ID))], ["code", text(CODE)], ["message", (v) => typeof v === "string"]],
};

/** Parses one line without its LF. */
export function parse(line: Uint8Array): Envelope {
  let envelope: unknown;
  let decoded: string;
  try {
    decoded = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line);
  } catch {
    throw new ProtocolError("INVALID_UTF8", "the line is no UTF-8");
  }
  try {
    envelope = JSON.parse(decoded);
  } catch (e) {
    throw new ProtocolError("INVALID_JSON", String(e));
  }
  if (!object(envelope)) throw new ProtocolError("INVALID_ENVELOPE", "no object");
  const version = envelope["protocolVersion"];
  if (typeof version !== "string" || !VERSION.test(version)) throw new ProtocolError("INVALID_ENVELOPE", "protocolVersion");
  if (!version.startsWith("1.")) throw new ProtocolError("UNSUPPORTED_VERSION", version);
  const kind = envelope["kind"];
  if (typeof kind !== "string") throw new ProtocolError("INVALID_ENVELOPE", "kind");
  const fields = Object.hasOwn(FIELDS, kind) ? FIELDS[kind] : undefined;
  if (!fields) throw new ProtocolError("UNKNOWN_KIND", kind);
  for (const [name, check] of [["messageId", text(ID)], ["sentAt", text(TIME)], ...fields] as typeof fields) {
    if (!check(envelope[name])) throw new ProtocolError("INVALID_ENVELOPE", name);
  }
  return envelope as unknown as Envelope;
}

/** Reads envelopes until the stream ends. */
export async function* read(stream: Readable): AsyncGenerator<Envelope> {
  let rest = Buffer.alloc(0);
  for await (const chunk of stream) {
    rest = Buffer.concat([rest, chunk as Buffer]);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      let line = rest.subarray(0, end);
      rest = rest.subarray(end + 1);
      if (line.at(-1) === 13) line = line.subarray(0, -1);
      if (line.length > LINE_BYTES) throw new ProtocolError("LINE_TOO_LARGE", `${line.length} bytes`);
      if (line.length > 0) yield parse(line);
    }
    if (rest.length > LINE_BYTES + 1) throw new ProtocolError("LINE_TOO_LARGE", "over 1 MiB");
  }
  if (rest.length > 0) throw new ProtocolError("INVALID_JSON", "the stream ended inside a line");
}

/** Writes envelopes. */
export class Writer {
  private count = 0;

  constructor(private readonly stream: Writable) {}

  send(envelope: Envelope): void {
    this.count++;
    const head = { protocolVersion: "1.0", messageId: `m${this.count}`, sentAt: new Date().toISOString() };
    this.stream.write(JSON.stringify({ ...head, ...envelope }) + "\n");
  }
}
