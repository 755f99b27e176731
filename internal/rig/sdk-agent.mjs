// A scripted agent on the official ACP TypeScript SDK: the protocol's own
// implementation at the other end, without a model. SCENARIO=word in the
// prompt picks what it does; sessions are kept in HOME for a resume.
import * as acp from "@agentclientprotocol/sdk";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const folder = join(homedir(), ".rig-sdk");
mkdirSync(folder, { recursive: true });
const sessions = new Map();
const children = new Set();

class Session {
  constructor(id, cwd, turns = 0) {
    Object.assign(this, { id, cwd, turns, abort: null });
  }
  save() {
    writeFileSync(join(folder, this.id), JSON.stringify({ cwd: this.cwd, turns: this.turns }));
  }
  static load(id) {
    const file = join(folder, basename(id));
    if (!existsSync(file)) throw acp.RequestError.resourceNotFound(id);
    const kept = JSON.parse(readFileSync(file, "utf8"));
    const session = new Session(id, kept.cwd, kept.turns);
    sessions.set(id, session);
    return session;
  }
}

function find(id) {
  return sessions.get(id) ?? Session.load(id);
}

// run starts a shell in a group of its own, as real agents do.
function run(command, cwd, signal) {
  return new Promise((resolve) => {
    const child = spawn("sh", ["-c", command], { cwd, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    children.add(child);
    let output = "";
    child.stdout.on("data", (d) => (output += d));
    child.stderr.on("data", (d) => (output += d));
    signal.addEventListener("abort", () => {
      try {
        process.kill(-child.pid, "SIGKILL");
      } catch {
        // it has ended by itself
      }
    });
    child.on("close", (code) => {
      children.delete(child);
      resolve({ code, output });
    });
  });
}

function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new Error("aborted"));
    });
  });
}

const options = [
  { optionId: "yes", name: "Allow once", kind: "allow_once" },
  { optionId: "always", name: "Allow always", kind: "allow_always" },
  { optionId: "no", name: "Reject", kind: "reject_once" },
];

class Turn {
  constructor(session, client) {
    Object.assign(this, { session, client, signal: session.abort.signal });
  }
  update(update) {
    return this.client.notify(acp.methods.client.session.update, { sessionId: this.session.id, update });
  }
  say(text) {
    return this.update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  }
  async tool(command) {
    const toolCallId = "call-" + randomUUID();
    const call = { toolCallId, title: command, kind: "execute", rawInput: { command } };
    await this.update({ sessionUpdate: "tool_call", status: "pending", ...call });
    const answer = await this.client.request(acp.methods.client.session.requestPermission, {
      sessionId: this.session.id,
      toolCall: call,
      options,
    });
    if (answer.outcome.outcome === "cancelled") throw new Error("aborted");
    if (answer.outcome.optionId === "no") {
      await this.update({ sessionUpdate: "tool_call_update", toolCallId, status: "failed" });
      return this.say("You said no.");
    }
    await this.update({ sessionUpdate: "tool_call_update", toolCallId, status: "in_progress" });
    const { code, output } = await run(command, this.session.cwd, this.signal);
    if (this.signal.aborted) throw new Error("aborted");
    await this.update({
      sessionUpdate: "tool_call_update",
      toolCallId,
      status: code === 0 ? "completed" : "failed",
      content: [{ type: "content", content: { type: "text", text: output } }],
    });
    return this.say("Tool said: " + output.slice(-200));
  }
}

const slow = 'python3 -c "import time; time.sleep(60) # sleep 60"';
const scripts = {
  async text(turn) {
    await turn.say("Hello from the SDK. ");
    await turn.say(`Turns seen: ${turn.session.turns}.`);
  },
  tool: (turn, prompt) => turn.tool(prompt.match(/CMD=([^\n]+)/)?.[1] ?? "echo hello-from-tool"),
  slowtool2: (turn) => turn.tool(slow),
  async slow(turn) {
    for (let i = 0; i < 120; i++) {
      await turn.say(`word${i} `);
      await pause(500, turn.signal);
    }
  },
  async err400() {
    throw acp.RequestError.internalError({ status: 400 }, "mock error 400");
  },
};

async function prompt({ params, client }) {
  const session = find(params.sessionId);
  session.abort = new AbortController();
  session.turns++;
  session.save();
  const text = params.prompt.map((block) => block.text ?? "").join("\n");
  const word = text.match(/SCENARIO=(\w+)/)?.[1] ?? "text";
  const turn = new Turn(session, client);
  try {
    await (scripts[word] ?? scripts.text)(turn, text);
    return { stopReason: "end_turn" };
  } catch (e) {
    if (turn.signal.aborted || e.message === "aborted") return { stopReason: "cancelled" };
    throw e;
  }
}

const M = acp.methods.agent;
const app = acp
  .agent({ name: "rig-sdk" })
  .onRequest(M.initialize, () => ({
    protocolVersion: 1,
    agentInfo: { name: "rig-sdk", version: "1.0.0" },
    authMethods: [],
    agentCapabilities: { loadSession: true, sessionCapabilities: { resume: {} } },
  }))
  .onRequest(M.session.new, ({ params }) => {
    const session = new Session("sdk-" + randomUUID(), params.cwd);
    sessions.set(session.id, session);
    session.save();
    return { sessionId: session.id };
  })
  .onRequest(M.session.load, ({ params }) => (Session.load(params.sessionId), {}))
  .onRequest(M.session.resume, ({ params }) => (Session.load(params.sessionId), {}))
  .onNotification(M.session.cancel, ({ params }) => sessions.get(params.sessionId)?.abort?.abort())
  .onRequest(M.session.prompt, prompt);

const stream = acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));
app.connect(stream).closed.then(() => process.exit(0));
