#!/usr/bin/env python3
"""fleet_crash.py WEIR: kills a fleet at random, and holds what its collector has to what its hosts have.

A round is a cluster of three nodes, some hosts that record and deliver, and a collector: README.md. Everything that is
random is drawn from a seed, which is printed, and which WEIR_SEED or --seed sets. The times at which processes do their
work are not: a seed gives the same faults, not the same run.
"""

import argparse
import collections
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import brokers  # noqa: E402
import judge  # noqa: E402
import kafka  # noqa: E402
import nats  # noqa: E402
from chaos import Chaos  # noqa: E402
from hosts import Collector, Host, LONG_DEADLINE  # noqa: E402

# The broker remembers the ids of messages for so long, in seconds. Publications are repeated after five.
WINDOW = 2.0


class Round:
    """One fleet, from its start to the verdict."""

    def __init__(self, options, server, seed, folder):
        self.options = options
        self.seed = seed
        self.chance = random.Random(seed)
        self.folder = folder
        self.weir = options.copy
        self.history = pathlib.Path(folder) / "history"
        if options.server == "kafka":
            self.cluster = kafka.Kafka(server, folder, seed)
        else:
            self.cluster = nats.Cluster(server, folder, seed, window=WINDOW, with_small_disk=options.small_disk)
        self.hosts = [
            Host(self.weir, f"h{number + 1}", folder, self.cluster, self.chance.getrandbits(32), number % 3 == 2)
            for number in range(options.hosts)
        ]
        self.collector = Collector(self.weir, folder, self.cluster)
        self.chaos = Chaos(self.chance, self.cluster, self.hosts, self.collector, self.history, options.only)
        self.counts = collections.Counter()
        self.missing = 0

    def run(self):
        self.cluster.start()
        for host in self.hosts:
            host.start()
        self.collector.start()
        self.chaos.note("begins")
        self.chaos.run(self.options.seconds)
        self.settle()
        self.judge()

    def settle(self):
        """Ends the faults, and lets everything run to its end."""
        self.chaos.note("ends")
        self.counts["broker restarted to heal"] += self.cluster.heal()
        for program in [self.collector, *(program for host in self.hosts for program in host.programs)]:
            program.thaw()
        for host in self.hosts:
            host.finish(kills=self.chance.random() < 0.5)
            host.recover()
        if self.chance.random() < 0.5 and not self.options.only:
            self.collector.kill()
        else:
            self.collector.end()
        for rest in [host.deliver_rest() for host in self.hosts]:
            self.wait_for(rest)
        repeated, self.missing = self.collector.finish()
        self.counts["events that came again at the end"] += repeated

    def wait_for(self, rest):
        brokers.wait(lambda: not rest.is_running, f"{rest.name} to deliver everything", LONG_DEADLINE)
        if rest.process.returncode != 0:
            raise brokers.Failure(f"{rest.name} ended with {rest.process.returncode}:\n{brokers.tail(rest.output)}")

    def judge(self):
        verdict = judge.judge(self.weir, self.hosts, self.collector.log)
        verdict.missing = self.missing
        blame = judge.Blame(self.cluster)
        ids = [identity for _, identity, _ in blame.stored]
        faults = self.cluster.faults
        self.counts.update({
            "events": verdict.events, "lost": len(verdict.lost), "twice": len(verdict.twice),
            "messages": len(set(ids)), "messages stored twice": len(ids) - len(set(ids)),
            "hosts that weir fleet counts otherwise": len(verdict.miscounted),
            **faults.done,
            "broker: acknowledged and not in the stream": len(blame.broken_promises),
            "broker: places where copies differ": len(blame.differences),
            "broker: rounds in which copies differ": bool(blame.differences),
            "broker: rounds in which a node stays behind": not blame.is_current,
        })
        if blame.differences:
            print(f"seed {self.seed}: THE BROKER: copies differ: {blame.differences[:judge.NAMED]}", flush=True)
        if verdict.problems:
            raise brokers.Failure("\n".join([*verdict.problems, *blame.lines(verdict.lost), *self.collect_again()]))

    def collect_again(self):
        """Whether another collection, by the same collector and by a new one, finds what is lost."""
        texts = []
        for collector in (self.collector, Collector(self.weir, pathlib.Path(self.folder) / "again", self.cluster)):
            collector.output.parent.mkdir(exist_ok=True)
            collector.finish()
            again = judge.judge(self.weir, self.hosts, collector.log)
            texts.append(f"after weir collect --until-end into {collector.log} {len(again.lost)} are lost there")
        return texts

    def diagnosis(self):
        texts = [f"---- {self.history}\n{brokers.tail(self.history, 200)}", self.cluster.diagnosis()]
        for output in sorted(pathlib.Path(self.folder).glob("**/*.output")):
            texts.append(f"---- {output}\n{brokers.tail(output, 12)}")
        return "\n".join(texts)

    def close(self):
        for host in self.hosts:
            host.close()
        if self.collector.is_running:
            self.collector.process.kill()
            self.collector.process.wait()
        self.cluster.close()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weir", help="the tool, built with the trait NATS or Kafka")
    parser.add_argument("--rounds", type=int, default=1, help="at most so many rounds")
    parser.add_argument("--kills", type=int, help="rounds until so many kills, in place of --rounds")
    parser.add_argument("--server", choices=["old", "new", "kafka"], default="old",
                        help="old: NATS_SERVER, or nats-server; new: the newest of PyPI; kafka: a broker of PyPI")
    parser.add_argument("--seed", type=int, default=os.environ.get("WEIR_SEED") or None, help="of the first round")
    parser.add_argument("--seconds", type=float, default=30, help="how long faults go on in a round")
    parser.add_argument("--hosts", type=int, default=3)
    parser.add_argument("--only", type=lambda text: text.split(","), default=(), help="nothing but these faults")
    parser.add_argument("--keep", action="store_true", help="keep the folder of a round that failed")
    parser.add_argument("--build", default=".build/fleet", help="where a server of PyPI is put")
    parser.add_argument("--no-small-disk", dest="small_disk", action="store_false", help="no full disks")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1 << 31)
    return options


def play(options, server, seed, totals):
    """One round. Whether all was well."""
    folder = tempfile.mkdtemp(prefix="weir-fleet-")
    start = time.monotonic()
    fleet = Round(options, server, seed, folder)
    problem = None
    try:
        fleet.run()
    except brokers.Failure as failure:
        problem = str(failure)
        print(f"FAILED: seed {seed}, server {options.server}: {problem}\n{fleet.diagnosis()}", flush=True)
    finally:
        fleet.close()
        if problem and options.keep:
            print(f"kept: {folder}", flush=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    totals["kills"].update(fleet.chaos.kills)
    totals["done"].update(fleet.chaos.done)
    totals["counts"].update(fleet.counts)
    print(f"seed {seed}: {'FAILED' if problem else 'ok'}, {fleet.chaos.kills.total()} kills, "
          f"{fleet.counts['events']} events, {time.monotonic() - start:.0f} s", flush=True)
    return problem is None


def table(title, counter):
    print(f"\n{title}")
    for name, count in sorted(counter.items()):
        print(f"  {name:44} {count:10,}")


def main():
    options = arguments()
    server = brokers.server_program(options.server, options.build)
    if not server:
        return 0
    print(f"{brokers.version(server)}, WEIR_SEED={options.seed}", flush=True)
    totals = {name: collections.Counter() for name in ("kills", "done", "counts")}
    failed, rounds = 0, 0
    with tempfile.TemporaryDirectory(prefix="weir-tool-") as place:
        # The tool may be built anew meanwhile.
        options.copy = shutil.copy(options.weir, place)
        while rounds < options.rounds if options.kills is None else totals["kills"].total() < options.kills:
            failed += not play(options, server, options.seed + rounds, totals)
            rounds += 1
    table("kills", totals["kills"])
    table("faults", totals["done"])
    table("what came of it", totals["counts"])
    print(f"\n{rounds} rounds, {totals['kills'].total()} kills, {failed} rounds failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
