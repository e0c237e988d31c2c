#!/usr/bin/env python3
"""What of a web server's log is against the contract in access.json, found in the text itself.

Reads Apache's combined log on standard input and writes a line of JSON for each violation: offset (the line's number,
from 0), event, field, rule, value. It shares nothing with the library: the lines are taken apart here, and the rules are
written out here, in Python. A test compares what the two find, one by one.
"""

import json
import re
import sys

LINE = re.compile(
    r'(?P<host>[^ ]+) (?P<ident>[^ ]+) (?P<user>[^ ]+) \[(?P<time>\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] '
    r'"(?P<method>[^ "]+) (?P<path>[^ "]+) (?P<protocol>[^ "]+)" (?P<status>[1-9]\d\d) (?P<bytes>0|[1-9]\d*|-) '
    r'"(?P<referrer>(?:[^"\\]|\\.)*)" "(?P<agent>(?:[^"\\]|\\.)*)"'
)

HOST = re.compile(r"([0-9]{1,3}\.){3}[0-9]{1,3}")
PATH = re.compile(r"/[A-Za-z0-9_/.~%+&=?,:;@!$*-]*")
REFERRER = re.compile(r"https?://[a-z0-9.-]+(/[^?#]*)?", re.DOTALL)


def violations(line):
    """(event, field, rule, value) for each way in which the line is against the contract, in the contract's order."""
    match = LINE.fullmatch(line)
    if match is None:
        yield "malformed", "", "unknown event", None
        return

    def text(name):
        return None if match[name] == "-" else match[name]

    if not HOST.fullmatch(match["host"]):
        yield "request", "host", r"matches ([0-9]{1,3}\.){3}[0-9]{1,3}", match["host"]
    if match["method"] not in ("GET", "HEAD", "POST"):
        yield "request", "method", 'one of "GET", "HEAD", "POST"', match["method"]
    if len(match["path"]) > 100:
        yield "request", "path", "length ...100", match["path"]
    if not PATH.fullmatch(match["path"]):
        yield "request", "path", r"matches /[\w/.~%+&=?,:;@!$*-]*", match["path"]
    status = int(match["status"])
    if not 200 <= status < 400:
        yield "request", "status", "range 200..<400", status
    if text("bytes") is not None and int(match["bytes"]) > 10_000_000:
        yield "request", "bytes", "range ...10000000", int(match["bytes"])
    if text("referrer") is not None and not REFERRER.fullmatch(match["referrer"]):
        yield "request", "referrer", "matches https?://[a-z0-9.-]+(/[^?#]*)?", match["referrer"]
    if text("agent") is None:
        yield "request", "agent", "mandatory", None
    elif not 8 <= len(match["agent"]) <= 200:
        yield "request", "agent", "length 8...200", match["agent"]
    yield "request", "protocol", "unknown field", match["protocol"]
    # Last of a line, as the tool has it: what is filled in is no violation.
    if text("bytes") is None:
        yield "request", "bytes", "default", 0


def main():
    lines = sys.stdin.buffer.read().split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    for offset, line in enumerate(lines):
        for event, field, rule, value in violations(line.decode("utf-8", "surrogateescape")):
            keys = {"offset": offset, "event": event, "field": field, "rule": rule, "value": value}
            print(json.dumps(keys))


if __name__ == "__main__":
    main()
