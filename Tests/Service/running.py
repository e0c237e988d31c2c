"""running.py: a running service, and the events that it delivered."""

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

DEADLINE = 300
"""Seconds until something that has to happen counts as not happening. Nothing is measured by it."""


class Failure(Exception):
    """The service did what it must not do."""


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Service:
    """A service on a port of its own. Without a log, the same service without Weir."""

    def __init__(self, program, log=None, delivered=None, processors=None, **options):
        self.port = free_port()
        environment = {**os.environ, "PORT": str(self.port)}
        if log:
            environment["EVENTS_DIRECTORY"] = str(log)
        if delivered:
            environment["EVENTS_DELIVERED"] = str(delivered)
        environment |= {f"EVENTS_{name.upper()}": str(value) for name, value in options.items()}
        command = [str(program)]
        if processors:
            command = ["taskset", "-c", processors, *command]
        self.process = subprocess.Popen(command, env=environment)
        try:
            self.await_answers()
        except BaseException:
            self.kill()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def await_answers(self):
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise Failure(f"the service ended with {self.process.returncode}")
            try:
                if self.ask("GET", "/items/1")[0] == 200:
                    return
            except OSError:
                time.sleep(0.01)
        raise Failure("the service does not answer")

    def ask(self, method, path, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        try:
            connection.request(method, path, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def processor_time(self):
        """The seconds of processor time that all threads of the service took."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self):
        """Ends the service at whatever instruction it is, unless the service has ended."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Ends the service in order: all events are delivered."""
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(DEADLINE) != 0:
            raise Failure(f"the service ended with {self.process.returncode}")


def delivered_events(directory):
    """The events of the files, in the order of the files. Of an open file, what its name says is there."""
    for path in sorted(pathlib.Path(directory).glob("*.jsonl*")):
        content = path.read_bytes()
        if ".open-" in path.name:
            content = content[: int(path.name.rpartition("-")[2])]
        for line in content.splitlines():
            yield json.loads(line)
