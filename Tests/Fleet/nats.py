"""A JetStream cluster of three nodes on loopback, whose nodes can be killed, frozen, cut off and started again.

The nodes reach each other through relays (proxy.py), one for each direction in which a route may be opened, so that a
node can be cut off without being root, and without a trace on the machine. Gossip would make routes beside the relays:
each node advertises an address where nobody listens. Clients reach the nodes through relays that know the protocol.
Without relays, what the cluster takes can be measured: a relay takes less.
"""

import base64
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request

from brokers import DEADLINE, Failure, Server, tail, wait
from proxy import AnswerRelay, Faults, Loop, Relay, free_port

NODES = 3
# The disk of the node that can be filled.
SMALL_DISK = "96m"


# ---- A client -------------------------------------------------------------------------------------------------------


class Client:
    """The least client there is: one request after another."""

    def __init__(self, port, timeout=2.0):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.file = self.socket.makefile("rwb")
        self.file.readline()
        options = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True, "name": "harness"}
        self.file.write(b"CONNECT %s\r\nSUB _INBOX.harness.* 1\r\n" % json.dumps(options).encode())
        self.file.flush()
        self.number = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def request(self, subject, body=None):
        """The answer as JSON; {} if nobody takes the request. Raises OSError without an answer."""
        self.number += 1
        inbox = f"_INBOX.harness.{self.number}"
        data = json.dumps(body).encode() if body is not None else b""
        self.file.write(f"PUB {subject} {inbox} {len(data)}\r\n".encode() + data + b"\r\n")
        self.file.flush()
        while True:
            words = self.file.readline().split()
            if not words:
                raise OSError("the server closed the connection")
            if words[0] == b"PING":
                self.file.write(b"PONG\r\n")
                self.file.flush()
            if words[0] not in (b"MSG", b"HMSG"):
                continue
            payload = self.file.read(int(words[-1]) + 2)[:-2]
            if words[1].decode() == inbox:
                return json.loads(payload) if words[0] == b"MSG" else {}


    def pull(self, stream, consumer, count):
        """The place and the headers of so many messages that a consumer has; fewer if it has no more."""
        inbox = "_INBOX.harness.pull"
        body = json.dumps({"batch": count, "no_wait": True}).encode()
        self.file.write(b"PUB $JS.API.CONSUMER.MSG.NEXT.%s.%s %s %d\r\n%s\r\n" % (
            stream.encode(), consumer.encode(), inbox.encode(), len(body), body))
        self.file.flush()
        found = []
        while len(found) < count:
            words = self.file.readline().split()
            if not words:
                raise OSError("the server closed the connection")
            if words[0] not in (b"MSG", b"HMSG"):
                continue
            payload = self.file.read(int(words[-1]) + 2)[:-2]
            # The place is in the subject for acknowledgements; the end of a request has none.
            if len(words) != 6 or not words[3].startswith(b"$JS.ACK."):
                break
            found.append((int(words[3].split(b".")[5]), headers(payload[:int(words[-2])])))
        return found


def headers(data):
    """Headers as NATS writes them."""
    pairs = (line.partition(":") for line in data.decode(errors="replace").split("\r\n")[1:])
    return {name: value.strip() for name, _, value in pairs}


# ---- Nodes ----------------------------------------------------------------------------------------------------------


class Node(Server):
    """One server. Its number is 0, 1 or 2."""

    def __init__(self, number, folder):
        super().__init__(f"n{number + 1}", folder)
        self.number = number
        self.route_port, self.monitor_port = free_port(), free_port()
        self.is_small = False

    def command(self, program):
        return [program, "-c", str(self.folder / "server.conf")]

    # The disk.

    def mount(self):
        """Puts the store on a small disk. Whether that can be done here."""
        command = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "weir-fleet", str(self.store)]
        if os.geteuid() != 0 or not shutil.which("mount"):
            print("SKIPPED: full disks of a node, because making a small disk takes root and mount", flush=True)
            return False
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        self.is_small = result.returncode == 0
        if not self.is_small:
            print(f"SKIPPED: full disks of a node, because mount says: {result.stderr.strip()}", flush=True)
        return self.is_small

    def fill(self):
        """Leaves no byte on the small disk."""
        with open(self.store / "hog", "ab", buffering=0) as hog:
            for size in (1 << 20, 1 << 12):
                try:
                    while True:
                        hog.write(bytes(size))
                except OSError:
                    continue

    @property
    def is_full(self):
        return (self.store / "hog").exists()

    def empty(self):
        (self.store / "hog").unlink(missing_ok=True)

    def unmount(self):
        if self.is_small:
            subprocess.run(["umount", "-l", str(self.store)], capture_output=True, check=False)


class Cluster:
    """Three nodes with a stream, the relays between them, and the relays for clients."""

    def __init__(self, program, folder, seed, stream="events", window=2.0, with_small_disk=True,
                 with_relays=True, store="1GB", limits=None):
        self.program = program
        self.stream = stream
        self.window = window
        self.store = store
        self.limits = limits or {}
        self.loop = Loop()
        self.faults = Faults(seed)
        self.nodes = [Node(number, folder) for number in range(NODES)]
        self.small = self.nodes[-1] if with_small_disk and self.nodes[-1].mount() else None
        self.links = {
            (a.number, b.number): Relay(self.loop, free_port(), b.route_port)
            for a in self.nodes for b in self.nodes if with_relays and a is not b
        }
        self.doors = [
            AnswerRelay(self.loop, free_port(), node.port, stream, self.faults)
            for node in self.nodes if with_relays
        ]
        for node in self.nodes:
            self._configure(node)

    @property
    def unable(self):
        """The faults that this broker can't have."""
        return () if self.small else ("full_disk",)

    @property
    def address(self):
        """The address for clients."""
        return "nats://" + ",".join(f"127.0.0.1:{door.port}" for door in self.doors or self.nodes)

    def options(self, name):
        """The words that name the stream to the tool, which begin with an option of this name."""
        return [name, self.address, "--stream", self.stream]

    def _configure(self, node):
        links = [self.links.get((node.number, b.number)) for b in self.nodes]
        ports = [link.port if link else b.route_port for b, link in zip(self.nodes, links)]
        routes = ", ".join(f'"nats-route://127.0.0.1:{port}"' for port in ports)
        (node.folder / "server.conf").write_text(f"""server_name: {node.name}
listen: 127.0.0.1:{node.port}
http: 127.0.0.1:{node.monitor_port}
jetstream {{ store_dir: "{node.store}", max_file_store: {self.store}, max_memory_store: 256MB }}
cluster {{
  name: fleet
  listen: 127.0.0.1:{node.route_port}
  advertise: "127.0.0.1:1"
  no_advertise: true
  routes: [ {routes} ]
}}
""")

    def start(self):
        """Starts all nodes, and makes the stream."""
        for node in self.nodes:
            node.start(self.program)
        self.wait_for_meta_leader()
        wait(self._make_stream, "the stream to be made")
        self.wait_for_leader()

    def start_node(self, node):
        if not node.is_running:
            node.start(self.program)

    def end_node(self, node):
        """Ends a node in order."""
        node.end()

    def _make_stream(self):
        answer = self.ask(f"$JS.API.STREAM.CREATE.{self.stream}", {
            "name": self.stream, "subjects": [f"{self.stream}.>"], "retention": "limits", "storage": "file",
            "num_replicas": NODES, "discard": "new", "duplicate_window": int(self.window * 1e9),
            **self.limits,
        })
        return answer if answer.get("config") else None

    def renew_stream(self):
        """Deletes the stream with all that is in it, and makes it again."""
        self.ask(f"$JS.API.STREAM.DELETE.{self.stream}", timeout=30)
        wait(self._make_stream, "the stream to be made")
        self.wait_for_leader()

    def ask(self, subject, body=None, timeout=2.0):
        """Asks any node that answers in time; {} if none does."""
        for node in self.nodes:
            if not node.is_running or node.is_frozen:
                continue
            try:
                with Client(node.port, timeout) as client:
                    answer = client.request(subject, body)
            except (OSError, ValueError):
                continue
            if answer and not answer.get("error", {}).get("code") == 503:
                return answer
        return {}

    def stream_info(self, timeout=2.0):
        return self.ask(f"$JS.API.STREAM.INFO.{self.stream}", timeout=timeout)

    def leader(self, timeout=2.0):
        """The node that leads the stream, or None."""
        name = self.stream_info(timeout).get("cluster", {}).get("leader")
        return next((node for node in self.nodes if node.name == name), None)

    def wait_for_leader(self, seconds=DEADLINE):
        return wait(self.leader, "a leader of the stream", seconds)

    def wait_for_meta_leader(self):
        wait(lambda: len(set(map(self._meta_leader, self.nodes)) - {None}) == 1 and self._meta_leader(self.nodes[0]),
             "a leader of the cluster")

    def _meta_leader(self, node):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{node.monitor_port}/jsz", timeout=2) as answer:
                return json.load(answer).get("meta_cluster", {}).get("leader") or None
        except (OSError, ValueError):
            return None

    def all_current(self):
        """Whether all replicas of the stream have all of it."""
        cluster = self.stream_info().get("cluster", {})
        replicas = cluster.get("replicas") or []
        return bool(cluster.get("leader")) and len(replicas) == NODES - 1 and all(
            replica.get("current") and not replica.get("offline") for replica in replicas)

    def becomes_current(self, seconds=30):
        """Waits until all replicas have all of the stream. Whether they do."""
        try:
            return wait(self.all_current, "all copies of the stream", seconds)
        except Failure:
            return False

    # Partitions.

    def cut_off(self, node, there=True, back=True):
        """Cuts a node off from the other ones: what it sends, what it gets, or both."""
        for (a, b), link in self.links.items():
            if a == node.number:
                link.cut(there, back)
            elif b == node.number:
                link.cut(back, there)

    def rejoin(self, node, closes):
        for ends, link in self.links.items():
            if node.number in ends:
                link.heal(closes)

    # The end.

    def heal(self):
        """Ends all faults, and gets the stream a leader again. Returns whether all nodes had to be started anew."""
        self.faults.clear()
        for relay in [*self.links.values(), *self.doors]:
            relay.heal(closes=True)
        for node in self.nodes:
            node.thaw()
            if node.is_full:
                node.empty()
                node.kill()
            self.start_node(node)
        try:
            self.wait_for_leader(seconds=60)
            return False
        except Failure:
            for node in self.nodes:
                node.kill()
            for node in self.nodes:
                node.start(self.program)
            self.wait_for_leader()
            return True

    def stored(self):
        """The place, the id and the host of each message that the stream has."""
        leader = self.wait_for_leader()
        state = self.stream_info().get("state", {})
        messages = []
        with Client(leader.port, timeout=10) as client:
            for place in range(state.get("first_seq", 1), state.get("last_seq", 0) + 1):
                answer = client.request(f"$JS.API.STREAM.MSG.GET.{self.stream}", {"seq": place})
                found = headers(base64.b64decode(answer.get("message", {}).get("hdrs", "")))
                messages.append((place, found.get("Nats-Msg-Id"), found.get("Weir-Host")))
        return messages

    def replicas(self):
        """What each node's copy of the stream has, as a consumer there gives it: the ids of messages by place.

        A consumer may give less than there is, and where it is put is for the servers to choose: so several are asked.
        """
        copies = {}
        count = self.stream_info().get("state", {}).get("messages", 0)
        for _ in range(40):
            try:
                name, copy = self._copy(count)
                if len(copy) >= len(copies.get(name, {})):
                    copies[name] = copy
            except (OSError, ValueError):
                time.sleep(0.5)
            if len(copies) == NODES and all(len(copy) >= count for copy in copies.values()):
                break
        return copies

    def _copy(self, count):
        """The name of any node, and its copy."""
        stream = self.stream
        with Client(self.wait_for_leader().port, timeout=10) as client:
            made = client.request(f"$JS.API.CONSUMER.CREATE.{stream}", {"stream_name": stream, "config": {
                "deliver_policy": "all", "ack_policy": "none", "replay_policy": "instant", "num_replicas": 1,
                "mem_storage": True, "headers_only": True, "inactive_threshold": 5_000_000_000}})
            if "name" not in made:
                raise ValueError(f"no consumer: {made}")
            found = client.pull(stream, made["name"], count)
            client.request(f"$JS.API.CONSUMER.DELETE.{stream}.{made['name']}")
        return made["cluster"]["leader"], {place: text.get("Nats-Msg-Id") for place, text in found}

    def diagnosis(self):
        """What the cluster says of itself, and the tails of its logs."""
        text = [f"stream: {json.dumps(self.stream_info())[:2000]}"]
        for node in self.nodes:
            text.append(f"---- {node.name}, {'running' if node.is_running else 'dead'}: {node.log}")
            text.append(tail(node.log, without=("Route connection", "Router connection")))
        return "\n".join(text)

    def close(self):
        for node in self.nodes:
            node.kill()
            node.unmount()
        for relay in [*self.links.values(), *self.doors]:
            relay.close()
        self.loop.stop()
