"""What happens to a fleet, by a seed: kills, frozen nodes, partitions, lost answers, full disks; and the repairs."""

import collections
import datetime
import heapq
import itertools
import time


class Chaos:
    """Does one thing after another to a fleet. Everything that is broken is repaired some seconds later."""

    def __init__(self, chance, cluster, hosts, collector, history, only=()):
        self.chance = chance
        self.cluster = cluster
        self.hosts = hosts
        self.collector = collector
        # A file that says what was done when, by the clock that the servers' logs have.
        self.history = history
        # Kills, by kind; and everything else that was done, by name.
        self.kills = collections.Counter()
        self.done = collections.Counter()
        self.repairs = []
        self.numbers = itertools.count()
        weights = {
            "recorder": 3, "deliverer": 4, "collecting": 4, "leader": 5, "node": 2, "two_nodes": 1, "all_nodes": 1,
            "together": 2, "end_in_order": 1, "freeze": 2, "freeze_program": 1, "partition": 2, "one_way": 1,
            "far_clients": 1, "hang_up": 1, "restart": 2, "lose_answers": 3, "delay_answers": 1, "placeless": 1,
            "false_duplicates": 1, "full_disk": 1,
        }
        self.weights = {
            name: weight for name, weight in weights.items()
            if name not in cluster.unable and (not only or name in only)}

    def run(self, seconds):
        """Does things for a time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            [name] = self.chance.choices(list(self.weights), list(self.weights.values()))
            self.done[name] += 1
            self.note(name)
            getattr(self, name)()
            pause_end = time.monotonic() + self.chance.choice([0.05, 0.3, 0.8, 1.5])
            while time.monotonic() < pause_end:
                self.repair()
                self.check()
                time.sleep(0.02)

    def check(self):
        for host in self.hosts:
            for program in host.programs:
                program.check()
        self.collector.check()

    def note(self, what):
        now = datetime.datetime.now(datetime.timezone.utc)
        with open(self.history, "a", encoding="utf-8") as history:
            history.write(f"{now:%Y/%m/%d %H:%M:%S.%f} {what}\n")

    def later(self, seconds, action):
        heapq.heappush(self.repairs, (time.monotonic() + seconds, next(self.numbers), action))

    def repair(self):
        """Repairs what is due."""
        while self.repairs and self.repairs[0][0] <= time.monotonic():
            heapq.heappop(self.repairs)[2]()

    def some_time(self):
        """Mostly short, and often longer than the broker remembers duplicates for."""
        return self.chance.choice([0.0, self.chance.uniform(0, 0.5), self.chance.uniform(0.5, 3), 3, 6])

    # ---- Kills ------------------------------------------------------------------------------------------------------

    def kill_program(self, program, kind):
        """Kills a process of the tool. A process that both records and delivers is a kind of its own."""
        if program.kill():
            self.kills[kind] += 1
            self.note(f"  killed {program.name}")
        self.later(self.some_time(), program.start)

    def kill_recorder(self, host):
        self.kill_program(host.recorder, "recorder" if host.deliverer else "recorder that delivers")

    def kill_sender(self, host):
        if host.deliverer:
            self.kill_program(host.deliverer, "deliverer")
        else:
            self.kill_recorder(host)

    def kill_node(self, node, seconds=None):
        kind = "leader" if node is self.last_leader() else "follower"
        if node.kill():
            self.kills[kind] += 1
            self.note(f"  killed {node.name}, a {kind}")
        self.later(self.some_time() if seconds is None else seconds, lambda: self.cluster.start_node(node))

    def last_leader(self):
        """The leader, as any node that answers at once says."""
        return self.cluster.leader(timeout=0.3)

    def recorder(self):
        self.kill_recorder(self.chance.choice(self.hosts))

    def deliverer(self):
        self.kill_sender(self.chance.choice(self.hosts))

    def collecting(self):
        self.kill_program(self.collector, "collector")

    def leader(self):
        leader = self.last_leader()
        self.kill_node(leader or self.chance.choice(self.cluster.nodes))

    def node(self):
        self.kill_node(self.chance.choice(self.cluster.nodes))

    def two_nodes(self):
        seconds = self.some_time()
        for node in self.chance.sample(self.cluster.nodes, 2):
            self.kill_node(node, seconds)

    def all_nodes(self):
        for node in self.cluster.nodes:
            self.kill_node(node)

    def together(self):
        """A leader, and whoever talks with it."""
        if "leader" in self.cluster.unable:
            self.restart()
        else:
            self.leader()
        for host in self.hosts:
            self.kill_sender(host)
            if self.chance.random() < 0.3:
                self.kill_recorder(host)
        if self.chance.random() < 0.5:
            self.collecting()

    def restart(self):
        """A server that ends in order, and comes back."""
        node = self.chance.choice(self.cluster.nodes)
        self.cluster.end_node(node)
        self.note(f"  ended {node.name}")
        self.later(self.some_time(), lambda: self.cluster.start_node(node))

    def end_in_order(self):
        program = self.chance.choice([self.collector, *(host.sender for host in self.hosts)])
        program.end()
        self.later(self.some_time(), program.start)

    # ---- Who does not answer ----------------------------------------------------------------------------------------

    def freeze_program(self):
        program = self.chance.choice([self.collector, *itertools.chain(*(host.programs for host in self.hosts))])
        program.freeze()
        self.note(f"  froze {program.name}")
        self.later(self.chance.uniform(0.2, 8), program.thaw)

    def freeze(self):
        node = self.chance.choice([self.last_leader(), self.chance.choice(self.cluster.nodes)])
        if node and node.is_running:
            node.freeze()
            self.note(f"  froze {node.name}")
            self.later(self.chance.uniform(0.2, 8), node.thaw)

    def partition(self):
        node = self.last_leader() or self.chance.choice(self.cluster.nodes)
        self.cluster.cut_off(node)
        self.note(f"  cut {node.name} off")
        self.rejoin_later(node)

    def one_way(self):
        node = self.last_leader() or self.chance.choice(self.cluster.nodes)
        there = self.chance.random() < 0.5
        self.cluster.cut_off(node, there, not there)
        self.note(f"  {node.name} is not {'heard' if there else 'told anything'}")
        self.rejoin_later(node)

    def rejoin_later(self, node):
        closes = self.chance.random() < 0.5
        self.later(self.chance.uniform(0.5, 10), lambda: self.rejoin(node, closes))

    def rejoin(self, node, closes):
        self.note(f"  {node.name} is back")
        self.cluster.rejoin(node, closes)

    def far_clients(self):
        """A node that clients do not reach, or that does not reach them, without their connections being closed."""
        door = self.chance.choice(self.cluster.doors)
        there = self.chance.random() < 0.5
        closes = self.chance.random() < 0.5
        door.cut(there, not there)
        self.later(self.chance.uniform(0.5, 8), lambda: door.heal(closes))

    def hang_up(self):
        for door in self.cluster.doors:
            door.close_connections()

    def full_disk(self):
        """A disk without a byte. Neither server goes on by itself when there is room again: it has to be restarted."""
        node = self.cluster.small
        if node.is_full:
            return
        node.fill()
        self.note(f"  filled the disk of {node.name}")
        self.later(self.chance.uniform(1, 8), lambda: self.restart_with_room(node))

    def restart_with_room(self, node):
        node.empty()
        if node.kill():
            self.kills["full disk"] += 1
            self.note(f"  killed {node.name}, whose disk had been full")
        self.cluster.start_node(node)

    # ---- Answers ----------------------------------------------------------------------------------------------------

    def lose_answers(self):
        self.fault(lost=self.chance.choice([0.3, 0.7, 1.0]))

    def delay_answers(self):
        self.fault(delayed=0.5, delay=self.chance.uniform(0.01, 1.5))

    def placeless(self):
        """Answers to duplicates without a place in the stream.

        What is lost with a connection is sent again at once, within the window: so there are duplicates.
        """
        self.fault(takes_place=True, lost=0.5)
        for seconds in (0.7, 1.7, 2.7):
            self.later(seconds, self.hang_up)

    def false_duplicates(self):
        """Publications that no server gets are called duplicates, without a place."""
        self.fault(false_duplicates=self.chance.choice([0.2, 1.0]))

    def fault(self, **values):
        self.cluster.faults.clear()
        for name, value in values.items():
            setattr(self.cluster.faults, name, value)
        self.later(self.chance.uniform(1, 7), self.cluster.faults.clear)
