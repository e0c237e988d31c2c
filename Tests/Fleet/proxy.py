"""TCP proxies that break connections on purpose: between the nodes of a cluster, and between clients and nodes.

A Relay passes bytes on. It can be cut, which no side is told, as when a cable is pulled; and its connections can be
closed. An AnswerRelay knows NATS's frames, too. It can lose the answers to publications, delay them, take the place in
the stream out of the answers to duplicates, and keep a publication from the server and call it a duplicate. It notes
which publications were acknowledged, so that whoever looks for a lost event knows whether the broker had promised it.

All of them run on one thread of their own: Loop. Calls from other threads take effect at once.
"""

import asyncio
import collections
import json
import random
import socket
import threading

CHUNK = 1 << 16
# The longest line of the protocol: INFO with everything that a server says of itself.
MOST_LINE = 1 << 20


class Loop:
    """The thread that all proxies run on."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True, name="proxies")
        self.thread.start()

    def call(self, coroutine):
        """Runs a coroutine on the thread, and returns what it returns."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(30)

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(30)


class Gate:
    """One direction of a relay: bytes pass while it is open, and wait while it is shut."""

    def __init__(self):
        self.event = asyncio.Event()
        self.event.set()

    def set(self, is_open):
        if is_open:
            self.event.set()
        else:
            self.event.clear()

    async def wait(self):
        await self.event.wait()


class Relay:
    """Passes the bytes of connections on, from a port of its own to another one."""

    def __init__(self, loop, port, target):
        self.loop = loop
        self.port = port
        self.target = target
        self.there = Gate()
        self.back = Gate()
        self.tasks = set()
        self.writers = set()
        self.server = loop.call(self._listen())

    async def _listen(self):
        return await asyncio.start_server(self._accept, "127.0.0.1", self.port, limit=MOST_LINE)

    async def _accept(self, reader, writer):
        task = asyncio.current_task()
        self.tasks.add(task)
        self.writers.add(writer)
        far_writer = None
        try:
            await self.there.wait()
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target, limit=MOST_LINE)
            self.writers.add(far_writer)
            await self._both_ways(reader, writer, far_reader, far_writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            for end in (writer, far_writer):
                if end:
                    self.writers.discard(end)
                    end.transport.abort()
            self.tasks.discard(task)

    async def _both_ways(self, reader, writer, far_reader, far_writer):
        """Passes bytes on until one side ends, which ends the other one."""
        session = self.session()
        ways = [
            asyncio.ensure_future(self.pump_there(reader, far_writer, writer, session)),
            asyncio.ensure_future(self.pump_back(far_reader, writer, session)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    def session(self):
        """What belongs to one connection."""
        return None

    async def pump_there(self, reader, writer, client, session):
        await self._pump(reader, writer, self.there)

    async def pump_back(self, reader, writer, session):
        await self._pump(reader, writer, self.back)

    @staticmethod
    async def _pump(reader, writer, gate):
        while True:
            await gate.wait()
            data = await reader.read(CHUNK)
            if not data:
                return
            await gate.wait()
            writer.write(data)
            await writer.drain()

    # Calls from other threads.

    def cut(self, there=True, back=True):
        """Lets nothing pass any more, in these directions, without a word to anybody."""
        self.loop.call(self._set(not there, not back))

    def heal(self, closes):
        """Lets everything pass again. What waited passes too, unless the connections are closed."""
        if closes:
            self.close_connections()
        self.loop.call(self._set(True, True))

    async def _set(self, there, back):
        self.there.set(there)
        self.back.set(back)

    def close_connections(self):
        self.loop.call(self._close())

    async def _close(self):
        for writer in list(self.writers):
            writer.transport.abort()
        for task in list(self.tasks):
            task.cancel()

    def close(self):
        self.loop.call(self._end())

    async def _end(self):
        self.server.close()
        await self._close()
        await asyncio.sleep(0)


class Frame:
    """A frame of NATS: its line, the body of one that has a body, and all its bytes."""

    def __init__(self, line, body, raw):
        self.words = line.split()
        self.verb = self.words[0].upper() if self.words else b""
        self.body = body
        self.raw = raw

    @property
    def headers(self):
        """The bytes of the headers of HPUB and HMSG."""
        return self.body[:int(self.words[-2])] if self.verb in (b"HPUB", b"HMSG") else b""

    def header(self, name):
        """The value of a header, or None."""
        for line in self.headers.split(b"\r\n"):
            key, _, value = line.partition(b":")
            if key.strip() == name:
                return value.strip().decode()
        return None


async def read_frame(reader):
    line = await reader.readuntil(b"\r\n")
    words = line.split()
    if not words or words[0].upper() not in (b"PUB", b"HPUB", b"MSG", b"HMSG"):
        return Frame(line, b"", line)
    body = await reader.readexactly(int(words[-1]) + 2)
    return Frame(line, body[:-2], line + body)


class Faults:
    """What answers to publications suffer at present, for all relays of a cluster. Fractions are of 1."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.clear()
        # What was done, and what the broker said, by name.
        self.done = collections.Counter()
        # The place in the stream of each publication that was acknowledged to its client, by its id.
        self.acknowledged = {}

    def clear(self):
        self.lost = 0.0
        self.delayed = 0.0
        self.delay = 0.0
        self.takes_place = False
        self.false_duplicates = 0.0


class AnswerRelay(Relay):
    """A relay for clients of a stream, whose subjects begin with a prefix."""

    def __init__(self, loop, port, target, prefix, faults):
        self.prefix = prefix.encode() + b"."
        self.faults = faults
        super().__init__(loop, port, target)

    def session(self):
        """The ids of publications, by the subject of their answers; and the client's subscriptions."""
        return {"ids": {}, "subscriptions": []}

    async def pump_there(self, reader, writer, client, session):
        while True:
            await self.there.wait()
            frame = await read_frame(reader)
            await self.there.wait()
            if frame.verb == b"SUB":
                session["subscriptions"].append((frame.words[1], frame.words[-1]))
            if self._is_publication(frame) and not await self._passes(frame, client, session):
                continue
            writer.write(frame.raw)
            await writer.drain()

    def _is_publication(self, frame):
        with_reply = {b"PUB": 4, b"HPUB": 5}.get(frame.verb)
        return with_reply == len(frame.words) and frame.words[1].startswith(self.prefix)

    async def _passes(self, frame, client, session):
        """Notes a publication. Whether the server gets it: if not, the client is told that it came twice."""
        session["ids"][frame.words[2]] = frame.header(b"Nats-Msg-Id")
        if self.faults.chance.random() >= self.faults.false_duplicates:
            return True
        number = subscription(session["subscriptions"], frame.words[2])
        if number is None:
            return True
        body = json.dumps({"stream": self.prefix.decode()[:-1], "duplicate": True}).encode()
        client.write(b"MSG %s %s %d\r\n%s\r\n" % (frame.words[2], number, len(body), body))
        await client.drain()
        self.faults.done["false duplicates"] += 1
        return False

    async def pump_back(self, reader, writer, session):
        while True:
            await self.back.wait()
            frame = await read_frame(reader)
            await self.back.wait()
            raw = frame.raw
            if frame.verb in (b"MSG", b"HMSG") and frame.words[1] in session["ids"]:
                raw = await self._answer(frame, session["ids"][frame.words[1]])
            if raw:
                writer.write(raw)
                await writer.drain()

    async def _answer(self, frame, message_id):
        """What the client gets of an answer; nothing if it is lost."""
        faults = self.faults
        if faults.chance.random() < faults.lost:
            faults.done["answers lost"] += 1
            return b""
        if faults.chance.random() < faults.delayed:
            faults.done["answers delayed"] += 1
            await asyncio.sleep(faults.delay)
        try:
            answer = json.loads(frame.body) if frame.verb == b"MSG" else {}
        except ValueError:
            answer = {}
        if answer.get("duplicate"):
            faults.done["duplicates that the broker found"] += 1
            if faults.takes_place:
                faults.done["duplicates without a place"] += 1
                del answer["seq"]
                return replaced(frame, json.dumps(answer).encode())
        if "error" not in answer and answer.get("seq"):
            faults.acknowledged[message_id] = answer["seq"]
        return frame.raw


def replaced(frame, body):
    """A MSG with another body."""
    return b" ".join(frame.words[:-1]) + b" %d\r\n%s\r\n" % (len(body), body)


def subscription(subscriptions, subject):
    """The number of the subscription that a subject belongs to, or None."""
    for pattern, number in reversed(subscriptions):
        stem = pattern.rstrip(b"*>")
        if pattern == subject or stem != pattern and subject.startswith(stem):
            return number
    return None


def free_port(chance=random.SystemRandom(), given=collections.deque(maxlen=100)):
    """A port that nobody has, below those that the system gives to clients: a node that starts again finds it free.

    It is none of the last hundred that were given, which may not be listened on yet.
    """
    for _ in range(1000):
        port = chance.randrange(15_000, 32_000)
        if port in given:
            continue
        given.append(port)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RuntimeError("no free port between 15000 and 32000")
