"""A program that captures, and how long a test waits for it."""

import json
import subprocess

# How long a test waits for what does not happen. Not for what does, however loaded the machine is.
PATIENCE = 120


class Writer:
    """A program that captures: `weir record`, which takes a line of JSON for each event."""

    @staticmethod
    def line(event):
        """The line of an event: its name under `event`, and its fields. Bytes are a line as they are."""
        if isinstance(event, bytes):
            return event
        fields = {name: value for name, value in event.items() if name != "event"}
        return json.dumps({"event": event["event"], "fields": fields}, ensure_ascii=False).encode()

    def __init__(self, weir, directory):
        self.process = subprocess.Popen(
            [weir, "record", directory, "--format", "jsonl"], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )

    def write(self, *events):
        for event in events:
            self.process.stdin.write(self.line(event) + b"\n")
        self.process.stdin.flush()

    def kill(self):
        self.process.kill()
        self.process.wait()
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait()
