#!/usr/bin/env python3
"""A small host of agent protocol v1.

    host.py [--cancel-after N] CAPABILITY JSON -- CMD ARG...

Starts CMD, sends one request, prints each event on stderr and the output on
stdout. With --cancel-after it cancels the request after N events. Exit code:
0 completed, 1 an error, 3 cancelled.
"""

import argparse
import json
import subprocess
import sys

from envelope import ProtocolError, Writer, read

REQUEST_ID = "r1"
GRACE_SECONDS = 5


def talk(agent, operation, text, cancel_after):
    out = Writer(agent.stdin)
    out.send("hello", capabilities=[operation], implementation="example-python-host 1.0")
    hello = read(agent.stdout)
    if hello is None or hello["kind"] != "hello":
        raise ProtocolError("UNEXPECTED_MESSAGE", "no hello")
    if operation not in hello["capabilities"]:
        print(f"UNSUPPORTED_CAPABILITY: {operation}", file=sys.stderr)
        return 1
    out.send("request", requestId=REQUEST_ID, operation=operation, input=json.loads(text))
    events = 0
    while (envelope := read(agent.stdout)) is not None:
        kind = envelope["kind"]
        if kind == "error":
            print(f"{envelope['code']}: {envelope['message']}", file=sys.stderr)
            return 1
        if kind == "cancel":
            out.send("cancel", requestId=REQUEST_ID)
            continue
        if kind != "event" or envelope["requestId"] != REQUEST_ID:
            raise ProtocolError("UNEXPECTED_MESSAGE", kind)
        if envelope["event"] == "completed":
            print(json.dumps(envelope.get("output", {}), ensure_ascii=False, separators=(",", ":")))
            return 0
        if envelope["event"] == "cancelled":
            return 3
        print(envelope["event"], json.dumps(envelope.get("output")), file=sys.stderr)
        events += 1
        if events == cancel_after:
            out.send("cancel", requestId=REQUEST_ID)
    print("PROCESS_FAILURE: the agent ended", file=sys.stderr)
    return 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cancel-after", type=int, default=0)
    parser.add_argument("operation")
    parser.add_argument("input")
    parser.add_argument("argv", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    argv = args.argv[1:] if args.argv[:1] == ["--"] else args.argv
    agent = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        return talk(agent, args.operation, args.input, args.cancel_after)
    except ProtocolError as e:
        print(f"MALFORMED_PROTOCOL: {e}", file=sys.stderr)
        return 1
    finally:
        agent.stdin.close()
        try:
            agent.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            agent.kill()
            agent.wait()


if __name__ == "__main__":
    sys.exit(main())
