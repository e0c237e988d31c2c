"""A broker that speaks Kafka's protocol, on loopback: noida-db of PyPI, a process with one topic.

Once a second, and when it ends in order, the broker writes what it has into a file. A kill takes
what it acknowledged in the last second, so nothing here kills it. Nor does it write what it
acknowledges while it ends, so its clients are cut off first. What it knows of its producers is
taken out of the file at each end.

Clients reach it through a relay that knows as much of the protocol as it takes to lose the answers
to what they produce, and to put its own port into answers in place of the broker's.
"""

import asyncio
import re
import socket
import struct

from brokers import Server, tail, wait
from proxy import Faults, Loop, Relay, free_port

PARTITIONS = 3
PRODUCE, FETCH, CREATE_TOPICS = 0, 1, 19
# Answers to what was produced have another form since this version.
COMPACT = 9
# Headers of a message that is not compressed: name, length, value.
MESSAGE_ID = re.compile(rb"Weir-Id.([0-9a-f]{16}-[0-9]+-[0-9]+-[0-9a-f]{8})", re.S)
HOST = re.compile(rb"Weir-Host.(h[0-9]+)", re.S)
# What the broker's file has of the producers of a partition.
PRODUCERS = re.compile(rb'"producer_seqs":.*?,"aborted_txns":', re.S)


class KafkaRelay(Relay):
    """A relay for clients of the broker."""

    def __init__(self, loop, port, target, faults):
        self.faults = faults
        # Where the broker tells clients to connect to, and where they are told to instead.
        self.told, self.tells = (
            b"127.0.0.1" + struct.pack(">i", number) for number in (target, port))
        super().__init__(loop, port, target)

    def session(self):
        """The version and the messages' ids of requests to produce, by the requests' numbers."""
        return {}

    async def pump_there(self, reader, writer, client, session):
        while True:
            await self.there.wait()
            frame = await read_frame(reader)
            await self.there.wait()
            api, version, number = struct.unpack_from(">hhi", frame, 4)
            if api == PRODUCE:
                session[number] = version, [found.decode() for found in MESSAGE_ID.findall(frame)]
            writer.write(frame)
            await writer.drain()

    async def pump_back(self, reader, writer, session):
        while True:
            await self.back.wait()
            frame = await read_frame(reader)
            await self.back.wait()
            [number] = struct.unpack_from(">i", frame, 4)
            if number in session and not await self._passes(frame, *session.pop(number)):
                return
            writer.write(frame.replace(self.told, self.tells))
            await writer.drain()

    async def _passes(self, frame, version, ids):
        """Whether a client gets the answer to what it produced. If not, its connection ends."""
        faults = self.faults
        if version < COMPACT:
            error, place = stored_at(frame)
            if error == 0:
                faults.acknowledged.update((identity, place) for identity in ids)
            else:
                faults.done[f"answers with error {error}"] += 1
        if faults.chance.random() < faults.lost:
            faults.done["answers lost"] += 1
            return False
        if faults.chance.random() < faults.delayed:
            faults.done["answers delayed"] += 1
            await asyncio.sleep(faults.delay)
        return True


async def read_frame(reader):
    size = await reader.readexactly(4)
    return size + await reader.readexactly(int.from_bytes(size, "big"))


def stored_at(frame):
    """The error and the place in an answer to what librdkafka produced: always in one partition."""
    [length] = struct.unpack_from(">h", frame, 12)
    _, partition, error, offset = struct.unpack_from(">iihq", frame, 14 + length)
    return error, f"{partition}/{offset}"


def text(value):
    """A string as requests have it."""
    return struct.pack(">h", len(value)) + value.encode()


class Broker(Server):
    """The process of the broker."""

    def command(self, program):
        return [program, "start", "--data-dir", str(self.store), "--only", "kafka",
                "--kafka-port", str(self.port)]


class Kafka:
    """The broker with a topic, and the relay for clients."""

    # There is one node, which nobody may kill; and only answers of NATS can be false.
    unable = ("leader", "node", "two_nodes", "all_nodes", "partition", "one_way", "placeless",
              "false_duplicates", "full_disk")

    def __init__(self, program, folder, seed, topic="events"):
        self.program = program
        self.topic = topic
        self.loop = Loop()
        self.faults = Faults(seed)
        self.node = Broker("broker", folder)
        self.nodes = [self.node]
        self.door = KafkaRelay(self.loop, free_port(), self.node.port, self.faults)
        self.doors = [self.door]

    def options(self, name):
        """The words that name the topic to the tool, after an option of this name."""
        return [name, f"kafka://127.0.0.1:{self.door.port}/{self.topic}"]

    def start(self):
        """Starts the broker, and makes the topic."""
        self.start_node(self.node)
        body = struct.pack(">i", 1) + text(self.topic)
        self.ask(CREATE_TOPICS, 2, body + struct.pack(">ihiiib", PARTITIONS, 1, 0, 0, 10_000, 0))
        wait(lambda: self.fetch(0) is not None, "the topic to be made")

    def start_node(self, node):
        if not node.is_running:
            self.door.heal(closes=True)
            node.start(self.program)

    def end_node(self, node):
        """Ends the broker in order, and lets it forget its producers."""
        self.door.cut()
        node.end()
        state = node.store / "kafka.json"
        forgotten = rb'"producer_seqs":[],"aborted_txns":'
        state.write_bytes(PRODUCERS.sub(forgotten, state.read_bytes()))

    def leader(self, timeout=None):
        return self.node

    def ask(self, api, version, body):
        """The answer to a request, once the broker gives one."""
        frame = struct.pack(">hhi", api, version, 1) + text("harness") + body

        def answer():
            try:
                with socket.create_connection(("127.0.0.1", self.node.port), 10) as client:
                    client.sendall(struct.pack(">i", len(frame)) + frame)
                    with client.makefile("rb") as file:
                        return file.read(int.from_bytes(file.read(4), "big"))[4:]
            except OSError:
                return None

        return wait(answer, "the broker to answer")

    def fetch(self, partition):
        """All that a partition has, or None if there is no such one. The broker heeds no limit."""
        body = struct.pack(">iiiibi", -1, 0, 0, 1 << 30, 0, 1) + text(self.topic)
        answer = self.ask(FETCH, 4, body + struct.pack(">iiqi", 1, partition, 0, 1 << 30))
        [length] = struct.unpack_from(">h", answer, 8)
        [error] = struct.unpack_from(">h", answer, 18 + length)
        return None if error else answer[18 + length:]

    # The end.

    def heal(self):
        """Ends all faults. Returns whether the broker had to be started anew for that: never."""
        self.faults.clear()
        self.door.heal(closes=True)
        self.node.thaw()
        self.start_node(self.node)
        self.fetch(0)
        return False

    def stored(self):
        """The place, the id and the host of each message that the topic has."""
        messages = []
        for partition in range(PARTITIONS):
            data = self.fetch(partition)
            for count, found in enumerate(MESSAGE_ID.finditer(data)):
                host = HOST.search(data, found.end())
                messages.append((f"{partition}/{count}", found[1].decode(), host[1].decode()))
        return messages

    def becomes_current(self):
        """Whether all replicas have all: there is but one."""
        return True

    def replicas(self):
        """What other replicas have: there is none."""
        return {}

    def diagnosis(self):
        """The tail of the broker's log."""
        node = self.node
        return f"---- {node.name}, {'running' if node.is_running else 'dead'}\n{tail(node.log)}"

    def close(self):
        self.node.kill()
        self.door.close()
        self.loop.stop()
