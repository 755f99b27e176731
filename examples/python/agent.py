#!/usr/bin/env python3
"""A small agent of agent protocol v1: `echo.text` and `count.up`."""

import sys
import threading

from envelope import ProtocolError, Writer, read


def echo(agent, request, stop):
    return request["input"]


def count(agent, request, stop):
    """Count to input.to, one `tick` every input.everyMs."""
    for n in range(1, request["input"].get("to", 3) + 1):
        if stop.wait(request["input"].get("everyMs", 0) / 1000):
            return None
        agent.out.send("event", requestId=request["requestId"], event="tick", output={"n": n})
    return {"counted": True}


OPERATIONS = {"echo.text": echo, "count.up": count}


class Agent:
    def __init__(self):
        self.out = Writer(sys.stdout.buffer)
        self.offered = None  # the host's capabilities, after its hello
        self.running = {}  # requestId: (stop, thread)
        self.retired = set()
        self.lock = threading.Lock()

    def serve(self):
        self.out.send("hello", capabilities=sorted(OPERATIONS), implementation="example-python 1.0")
        try:
            while (envelope := read(sys.stdin.buffer)) is not None:
                self.take(envelope)
            status = 0
        except ProtocolError as e:
            self.out.send("error", code=e.code, message=str(e))
            status = 1
        with self.lock:
            left = list(self.running.values())
        for stop, _ in left:
            stop.set()
        for _, thread in left:
            thread.join()
        return status

    def take(self, envelope):
        kind, request_id = envelope["kind"], envelope.get("requestId")
        if kind == "hello" and self.offered is None:
            self.offered = set(envelope["capabilities"])
        elif kind == "hello" or self.offered is None or kind == "event":
            raise ProtocolError("UNEXPECTED_MESSAGE", kind)
        elif kind == "request":
            self.request(envelope)
        elif request_id in self.running:  # cancel, or an error: the host gave up
            self.running[request_id][0].set()

    def request(self, envelope):
        request_id, operation = envelope["requestId"], envelope["operation"]
        with self.lock:
            if request_id in self.running or request_id in self.retired:
                raise ProtocolError("UNEXPECTED_MESSAGE", request_id)
            if operation not in OPERATIONS or operation not in self.offered:
                self.retired.add(request_id)
                self.out.send("error", requestId=request_id, code="UNSUPPORTED_OPERATION", message=operation)
                return
            stop = threading.Event()
            thread = threading.Thread(target=self.run, args=(envelope, stop))
            self.running[request_id] = (stop, thread)
        thread.start()

    def run(self, request, stop):
        request_id = request["requestId"]
        try:
            output = OPERATIONS[request["operation"]](self, request, stop)
            end = {"event": "cancelled"} if stop.is_set() and output is None else {"event": "completed", "output": output}
            kind = "event"
        except Exception as e:  # whatever it is, the request ends once
            kind, end = "error", {"code": "FAILED", "message": str(e)[:1000]}
        with self.lock:
            del self.running[request_id]
            self.retired.add(request_id)
            self.out.send(kind, requestId=request_id, **end)


if __name__ == "__main__":
    sys.exit(Agent().serve())
