#!/usr/bin/env python3
"""guide_test.py WEIR [GUIDE]: runs the ten commands of the guide to fleets as printed, in turn.

Only the ports and the names of the servers are other ones, for the guide's could belong to another
cluster of the machine. The last two commands are repeated until they show all events: a commit
comes later, and a server has just been killed.
"""

import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

from brokers import Failure, dies_with_parent, tail, wait  # noqa: E402
from hosts import LONG_DEADLINE  # noqa: E402
from proxy import free_port  # noqa: E402

GUIDE = pathlib.Path(__file__).parents[2] / "Sources/Weir/Weir.docc/Guides/Fleet.md"
PORTS = ("4222", "4223", "4224", "6222", "6223", "6224")
EVENTS = 10_000


def commands(guide):
    """The commands, each without the ends of lines within it."""
    page = guide.read_text(encoding="utf-8")
    section = page.partition("\n## Ten commands\n")[2].partition("\n## ")[0]
    [block] = re.findall(r"^```sh\n(.*?)^```$", section, re.M | re.S) or [""]
    return re.sub(r"\\\n\s*", "", block).splitlines()


def write_log(path):
    """A log of requests."""
    with open(path, "w", encoding="utf-8") as file:
        for number in range(EVENTS):
            time = f"{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}"
            file.write(f"10.0.0.{number % 250} - - [01/Jan/2025:{time} +0000] "
                       f'"GET /item/{number} HTTP/1.1" 200 {number}\n')


class Shell:
    """A bash in a folder, which gets one command after another. All it started ends with it."""

    def __init__(self, folder, path):
        self.folder = folder
        self.count = 0
        # The death of this test ends it, too.
        self.process = subprocess.Popen(
            [*dies_with_parent("HUP"), "bash"], cwd=folder, env={**os.environ, "PATH": path},
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)
        self.write("trap 'kill -KILL 0' EXIT")

    def write(self, text):
        self.process.stdin.write(f"{text}\n".encode())
        self.process.stdin.flush()

    def run(self, command):
        """The status of a command, and what it wrote before it ended, or went to the background."""
        self.count += 1
        output = self.folder / f"{self.count}.output"
        status = self.folder / f"{self.count}.status"
        output.write_text(f"$ {command}\n")
        self.write(f"exec >>{output} 2>&1\n{command}\necho $? >{status}")
        has_ended = lambda: status.exists() and status.read_text().endswith("\n")  # noqa: E731
        wait(has_ended, f"the end of {command}", LONG_DEADLINE)
        return int(status.read_text()), output.read_text()

    def run_well(self, command):
        status, _ = self.run(command)
        if status != 0:
            raise Failure(f"{command} ended with {status}")

    def said(self):
        outputs = sorted(self.folder.glob("*.output"), key=lambda path: int(path.stem))
        # The first commands, and the last tries of the last ones.
        return "\n".join(tail(output) for output in [*outputs[:10], *outputs[10:][-2:]])

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def ids(folder):
    """The ids in files that events were delivered into, and how often each is there."""
    lines = [line for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]
    return collections.Counter(json.loads(line)["id"] for line in lines)


def is_complete(shell, last_two):
    """Runs the last two commands. Whether they show each event once in the log of all hosts."""
    (status, table), (delivery_status, _) = map(shell.run, last_two)
    row = re.search(r"^web-1 +\w+ +1 +([0-9,]+) +0 ", table, re.M)
    copies = ids(shell.folder / "copies")
    if max(copies.values(), default=1) > 1:
        raise Failure("copies has events twice")
    return (status, delivery_status) == (0, 0) and row and row[1] == f"{EVENTS:,}" \
        and len(copies) == EVENTS and copies == ids(shell.folder / "out")


def follow(guide, shell):
    """Does what the guide says."""
    texts = commands(guide)
    if len(texts) != 10:
        raise Failure(f"the guide has {len(texts)} commands, not ten")
    ports = {port: str(free_port()) for port in PORTS}
    own = {**ports, **{name: f"{name}-{ports['4222']}" for name in ("n1", "n2", "n3")}}
    texts = [re.sub(rf"\b({'|'.join(own)})\b", lambda word: own[word[0]], text) for text in texts]
    write_log(shell.folder / "access.log")
    for text in texts[:-2]:
        shell.run_well(text)
    wait(lambda: is_complete(shell, texts[-2:]), f"{EVENTS:,} events of web-1 in all and in copies",
         LONG_DEADLINE)
    # Two servers and the collector; the other one was killed.
    running = int(shell.run("jobs -rp | wc -l")[1].split()[-1])
    if running != 3:
        raise Failure(f"{running} processes run at the end, not 3")


def main():
    path = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/usr/local/sbin"])
    for program, package in (("nats-server", "nats-server"), ("pgrep", "procps")):
        if not shutil.which(program, path=path):
            print(f"SKIPPED: the guide to fleets, because there is no {program}: "
                  f"apt-get install {package}")
            return 0
    with tempfile.TemporaryDirectory(prefix="weir-guide-") as name:
        folder = pathlib.Path(name)
        tools = folder / "bin"
        tools.mkdir()
        # The tool may be built anew meanwhile.
        shutil.copy(sys.argv[1], tools / "weir")
        shell = Shell(folder, f"{tools}{os.pathsep}{path}")
        try:
            follow(pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else GUIDE, shell)
        except Failure as failure:
            print(f"FAILED: the guide to fleets: {failure}\n{shell.said()}")
            return 1
        finally:
            shell.close()
    print(f"ok: the ten commands of the guide to fleets: {EVENTS:,} events, each once")
    return 0


if __name__ == "__main__":
    sys.exit(main())
