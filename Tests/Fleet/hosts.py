"""The processes of a fleet: hosts, each of which records and delivers a log, and a collector. All can be killed."""

import json
import pathlib
import random
import re
import signal
import subprocess
import threading
import time

from brokers import DEADLINE, Failure, dies_with_parent, tail, wait

# Delivering and collecting what is left takes some seconds, and more on a busy machine.
LONG_DEADLINE = 600


class Program:
    """A process of the tool that is killed and started again, and must not end by itself."""

    def __init__(self, name, command, folder):
        self.name = name
        self.command = [*dies_with_parent(), *map(str, command)]
        self.output = pathlib.Path(folder) / f"{name}.output"
        self.process = None
        self.starts = 0

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def start(self):
        if self.is_running:
            return
        self.starts += 1
        with open(self.output, "ab") as output:
            output.write(f"---- start {self.starts}\n".encode())
            output.flush()
            self.process = self.spawn(output)

    def spawn(self, output):
        return subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def kill(self):
        """Kills the process. Whether there was one to kill."""
        self.check()
        was_running = self.is_running
        if was_running:
            self.process.kill()
            self.process.wait()
        self.process = None
        return was_running

    def end(self):
        """Ends the process in order."""
        self.check()
        if not self.is_running:
            return
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.name} does not end at SIGTERM within {DEADLINE} s:\n{tail(self.output)}") from None
        self.process = None
        # A process that has hardly begun has no handler yet.
        if code not in (128 + signal.SIGTERM, -signal.SIGTERM):
            raise Failure(f"{self.name} ended with {code} at SIGTERM, not 143:\n{tail(self.output)}")

    def freeze(self):
        if self.is_running:
            self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        if self.is_running:
            self.process.send_signal(signal.SIGCONT)

    def check(self):
        """Fails if the process has ended by itself."""
        code = self.process.poll() if self.process else None
        if code is not None:
            self.process = None
            raise Failure(f"{self.name} ended by itself with {code}:\n{tail(self.output)}")


class Recorder(Program):
    """`weir record`, fed with numbered events. What it acknowledged is noted."""

    def __init__(self, name, command, folder, seed):
        super().__init__(name, command, folder)
        self.chance = random.Random(seed)
        self.is_over = threading.Event()
        # (life, number) of each event whose capture was acknowledged.
        self.acknowledged = set()
        self.readers = []
        self.feeder = threading.Thread(target=self._feed, daemon=True)
        self.feeder.start()

    def spawn(self, output):
        process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output, bufsize=0)
        reader = threading.Thread(target=self._note, args=(process.stdout, self.starts), daemon=True)
        reader.start()
        self.readers.append(reader)
        return process

    def _note(self, lines, life):
        """Notes the acknowledgements of one life. A kill may leave half a number, without a newline."""
        rest = b""
        while data := lines.read(1 << 16):
            *whole, rest = (rest + data).split(b"\n")
            self.acknowledged.update((life, int(number)) for number in whole)

    def _feed(self):
        process, number = None, 0
        while not self.is_over.is_set():
            current, life = self.process, self.starts
            if current is None or current.stdin is None:
                time.sleep(0.01)
                continue
            if current is not process:
                process, number = current, 0
            count = self.chance.choice([1, 3, 10, 20, 20, 400])
            lines = b"".join(self._line(life, number + 1 + index) for index in range(count))
            number += count
            try:
                write_all(process.stdin, lines)
            except (OSError, ValueError):
                # It was killed.
                time.sleep(0.01)
            self.is_over.wait(self.chance.uniform(0.02, 0.25))

    def _line(self, life, number):
        # Random, so that it can't be compressed, and parts become full.
        text = self.chance.randbytes(self.chance.choice([0, 10, 100, 400])).hex()
        fields = {"host": self.name, "life": life, "number": number, "text": text}
        return json.dumps({"event": "tick", "fields": fields}).encode() + b"\n"

    def finish(self, kills):
        """Ends the input, and the process: by itself, or by a kill."""
        self.is_over.set()
        wait(lambda: not self.feeder.is_alive(), f"{self.name} to take its input")
        self.check()
        if self.is_running and not kills:
            self.process.stdin.close()
            wait(lambda: self.process.poll() is not None, f"{self.name} to end after its input", LONG_DEADLINE)
            code, self.process = self.process.returncode, None
            if code != 0:
                raise Failure(f"{self.name} ended with {code} at the end of its input:\n{tail(self.output)}")
        self.kill()
        for reader in self.readers:
            reader.join(DEADLINE)


def write_all(pipe, data):
    rest = memoryview(data)
    while rest:
        rest = rest[pipe.write(rest):]


class Host:
    """A machine of the fleet: a log, who records it, and who delivers it: the same process, or another one."""

    def __init__(self, weir, name, folder, cluster, seed, is_one_process):
        chance = random.Random(seed)
        self.weir = weir
        self.name = name
        self.folder = pathlib.Path(folder) / name
        self.folder.mkdir()
        self.log = self.folder / "log"
        record = [
            weir, "record", self.log, "--format", "jsonl", "--acknowledge", "--threads", chance.choice([1, 2, 4]),
            "--segment-bytes", chance.choice(["512K", "1M", "8M"]), "-"]
        to = [*cluster.options("--to"), "--name", "fleet", "--host", name]
        self.deliver = [weir, "deliver", self.log, *to]
        if is_one_process:
            record += to
        self.recorder = Recorder(f"{name}-recorder", record, self.folder, seed)
        self.deliverer = None
        if not is_one_process:
            self.deliverer = Program(f"{name}-deliverer", [*self.deliver, "--follow"], self.folder)

    @property
    def programs(self):
        return [self.recorder] if self.deliverer is None else [self.recorder, self.deliverer]

    @property
    def sender(self):
        """Who delivers."""
        return self.deliverer or self.recorder

    def start(self):
        self.recorder.start()
        wait(lambda: self.recorder.check() or (self.log / "ring").exists(), f"the log of {self.name}")
        self.sender.start()

    def finish(self, kills):
        """Ends the recording, and the delivery, in order or by kills."""
        self.recorder.finish(kills)
        if self.deliverer and kills:
            self.deliverer.kill()
        elif self.deliverer:
            self.deliverer.end()

    def recover(self):
        run([self.weir, "recover", self.log])

    def deliver_rest(self):
        """Starts the delivery of everything that is left."""
        rest = Program(f"{self.name}-rest", self.deliver, self.folder)
        rest.start()
        return rest

    def close(self):
        self.recorder.is_over.set()
        for program in self.programs:
            if program.is_running:
                program.process.kill()
                program.process.wait()


class Collector(Program):
    """`weir collect --from`."""

    def __init__(self, weir, folder, cluster):
        self.log = pathlib.Path(folder) / "fleet"
        super().__init__("collector", [weir, "collect", self.log, *cluster.options("--from")], folder)
        self.until_end = [*self.command, "--until-end"]

    def finish(self):
        """Collects everything that the broker has. Returns how many events came again and were dropped, and how many
        are missing, as the collector says.
        """
        code, text = run_to_end(self.until_end)
        with open(self.output, "a", encoding="utf-8") as output:
            output.write(f"---- to the end\n{text}")
        found = re.search(r"([0-9,]+) came again and were dropped; ([0-9,]+) missing", text)
        if not found:
            raise Failure(f"the collector ended with {code}, and does not say what is missing:\n{text}")
        repeated, missing = (int(number.replace(",", "")) for number in found.groups())
        if code != (1 if missing else 0):
            raise Failure(f"the collector ended with {code}:\n{text}")
        return repeated, missing


def run(command):
    """Runs the tool to its end, which has to be 0. Returns what it said."""
    code, text = run_to_end(command)
    if code != 0:
        raise Failure(f"{' '.join(map(str, command))} ended with {code}:\n{text[-4000:]}")
    return text


def run_to_end(command):
    """Runs the tool. Returns its exit code, and what it said on both streams."""
    command = list(map(str, command))
    try:
        result = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=LONG_DEADLINE, check=False)
    except subprocess.TimeoutExpired as error:
        said = (error.stdout or b"").decode(errors="replace")
        raise Failure(f"{LONG_DEADLINE} s were not enough for {' '.join(command)}:\n{said[-4000:]}") from None
    return result.returncode, result.stdout
