"""Agent protocol v1 for Python, standard library only: what both sides share.

One JSON object a line. `read` takes the next envelope of the peer, `Writer`
writes ours. The schema and fixtures are in schemas/agent-protocol/v1.
"""

import datetime
import json
import re
import threading

LINE_BYTES = 1 << 20
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
CAPABILITY = re.compile(r"[a-z][a-z0-9.-]{0,127}")
CODE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
VERSION = re.compile(r"(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)

# Required fields of each kind, in the order of the specification.
FIELDS = {
    "hello": ["capabilities"],
    "request": ["requestId", "operation", "input"],
    "event": ["requestId", "event"],
    "cancel": ["requestId"],
    "error": ["code", "message"],
}
PATTERNS = {"messageId": ID, "requestId": ID, "operation": CAPABILITY, "event": CAPABILITY, "code": CODE, "sentAt": TIME}


class ProtocolError(Exception):
    """The peer broke the protocol; `code` is the parse-level code."""

    def __init__(self, code, detail):
        super().__init__(f"{code}: {detail}")
        self.code = code


def _object(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ProtocolError("DUPLICATE_KEY", "a key stands there twice")
    return members


def _no_constant(word):
    raise ValueError(f"{word} is no JSON")


def parse(line):
    """Parse one line (bytes without LF) into an envelope."""
    if len(line) > LINE_BYTES:
        raise ProtocolError("LINE_TOO_LARGE", "the line is over 1 MiB")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as e:
        raise ProtocolError("INVALID_UTF8", f"at byte {e.start}") from None
    try:
        envelope = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except (ValueError, RecursionError) as e:
        raise ProtocolError("INVALID_JSON", str(e)) from None
    if not isinstance(envelope, dict):
        raise ProtocolError("INVALID_ENVELOPE", "no object")
    check(envelope)
    return envelope


def check(envelope):
    version = envelope.get("protocolVersion")
    if not isinstance(version, str) or not VERSION.fullmatch(version):
        raise ProtocolError("INVALID_ENVELOPE", "protocolVersion")
    if version.split(".")[0] != "1":
        raise ProtocolError("UNSUPPORTED_VERSION", version)
    kind = envelope.get("kind")
    if not isinstance(kind, str):
        raise ProtocolError("INVALID_ENVELOPE", "kind")
    if kind not in FIELDS:
        raise ProtocolError("UNKNOWN_KIND", kind)
    for name in ["messageId", "sentAt"] + FIELDS[kind]:
        value, pattern = envelope.get(name), PATTERNS.get(name)
        if pattern and not (isinstance(value, str) and pattern.fullmatch(value)):
            raise ProtocolError("INVALID_ENVELOPE", name)
    if kind == "hello":
        names = envelope.get("capabilities")
        if not isinstance(names, list) or not all(isinstance(n, str) and CAPABILITY.fullmatch(n) for n in names):
            raise ProtocolError("INVALID_ENVELOPE", "capabilities")
    for name in {"request": ["input"], "event": ["output"]}.get(kind, []):
        if (name in envelope or name == "input") and not isinstance(envelope.get(name), dict):
            raise ProtocolError("INVALID_ENVELOPE", name)


def read(stream):
    """Return the next envelope of a binary stream, None at its end."""
    while True:
        line = stream.readline(LINE_BYTES + 2)
        if not line:
            return None
        if not line.endswith(b"\n"):
            raise ProtocolError("LINE_TOO_LARGE" if len(line) > LINE_BYTES else "INVALID_JSON", "no whole line")
        line = line[:-1].removesuffix(b"\r")
        if line:
            return parse(line)


class Writer:
    """Writes whole envelopes, from any thread."""

    def __init__(self, stream):
        self.stream, self.count, self.lock = stream, 0, threading.Lock()

    def send(self, kind, **fields):
        with self.lock:
            self.count += 1
            now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
            envelope = {"protocolVersion": "1.0", "kind": kind, "messageId": f"m{self.count}", "sentAt": now.replace("+00:00", "Z")}
            envelope.update(fields)
            self.stream.write(json.dumps(envelope, ensure_ascii=False).encode() + b"\n")
            self.stream.flush()
