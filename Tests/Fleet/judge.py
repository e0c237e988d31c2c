"""Holds the log of a fleet to the logs of its hosts: each event once, none other, in the order of its lane."""

import collections
import json
import subprocess

from brokers import Failure
from hosts import LONG_DEADLINE, run

# So many of what is wrong are named.
NAMED = 5
# The upper 16 bits of the number in an id are the lane, the other ones an eighth of the position there.
POSITION_BITS = 48


def read(weir, log):
    """The events of a log, in their order. Fails if a part of the log can't be read."""
    result = subprocess.run(
        [weir, "cat", str(log), "--context", "--show-sensitive"], capture_output=True, text=True, timeout=LONG_DEADLINE,
        check=False)
    if result.returncode != 0:
        raise Failure(f"weir cat {log} ended with {result.returncode}: {result.stderr[-2000:]}")
    return [json.loads(line) for line in result.stdout.splitlines()]


def content(event):
    """What has to be equal at the host and in the fleet's log."""
    return {key: value for key, value in event.items() if key not in ("offset", "host")}


def lane(event):
    """The opening, the lane, and the position there."""
    number = int(event["id"][16:], 16)
    return event["id"][:16], number >> POSITION_BITS, number & (1 << POSITION_BITS) - 1


class Verdict:
    """What is right and what is wrong of a fleet's log."""

    def __init__(self):
        self.events = 0
        self.lost = []
        self.twice = []
        self.foreign = []
        self.changed = []
        self.unordered = []
        self.unacknowledged = []
        # The hosts of which `weir fleet` says another number of events than their logs have. No failure: it is a view.
        self.miscounted = []
        # How many events are missing, as the collector says.
        self.missing = 0

    @property
    def problems(self):
        kinds = {
            "lost": self.lost, "twice": self.twice, "of no host": self.foreign, "changed on the way": self.changed,
            "out of the order of their lane": self.unordered,
            "acknowledged by a recorder, and not in its log": self.unacknowledged,
        }
        missing = [f"the collector says that {self.missing} are missing"] if self.missing else []
        return missing + [f"{len(items)} {kind}, such as {items[:NAMED]}" for kind, items in kinds.items() if items]


def judge(weir, hosts, fleet):
    """Holds the log `fleet` to the logs of the hosts."""
    verdict = Verdict()
    collected = read(weir, fleet)
    by_id = {event["id"]: event for event in collected}
    counts = collections.Counter(event["id"] for event in collected)
    verdict.twice = [identity for identity, count in counts.items() if count > 1]
    rows = {row["host"]: row for row in json.loads(run([weir, "fleet", fleet, "--json"]))["rows"]}
    known = set()
    for host in hosts:
        events = read(weir, host.log)
        verdict.events += len(events)
        known.update(event["id"] for event in events)
        if rows.get(host.name, {}).get("events") != len(events):
            verdict.miscounted.append(host.name)
        for event in events:
            found = by_id.get(event["id"])
            if found is None:
                verdict.lost.append((host.name, event["id"], event["offset"]))
            elif content(found) != content(event):
                verdict.changed.append((content(event), content(found)))
        verdict.unacknowledged += unrecorded(host, events)
    verdict.foreign = [identity for identity in by_id if identity not in known]
    verdict.unordered = unordered(collected)
    report = json.loads(run([weir, "verify", fleet, "--json"]))
    if report["findings"] or not report["intact"]:
        raise Failure(f"weir verify finds damage in the fleet's log: {report}")
    return verdict


def unrecorded(host, events):
    """What a recorder has acknowledged and its log has not."""
    there = {(event["fields"].get("life"), event["fields"].get("number")) for event in events}
    return [(host.name, *each) for each in sorted(host.recorder.acknowledged - there)]


def unordered(events):
    """The ids of events that come after a later one of their lane."""
    last, found = {}, []
    for event in events:
        *key, position = lane(event)
        if position <= last.get(tuple(key), -1):
            found.append(event["id"])
        last[tuple(key)] = max(position, last.get(tuple(key), -1))
    return found


class Blame:
    """Where lost events are: what the broker acknowledged, what its leader has, and what each node's copy has."""

    def __init__(self, cluster):
        # A node that lags is no node that differs.
        self.is_current = cluster.becomes_current()
        self.stored = [(place, identity, host) for place, identity, host in cluster.stored() if identity]
        self.copies = cluster.replicas()
        self.acknowledged = dict(cluster.faults.acknowledged)

    @property
    def broken_promises(self):
        """The ids of messages that were acknowledged, and that the leader does not have."""
        ids = {identity for _, identity, _ in self.stored}
        return sorted(identity for identity in self.acknowledged if identity not in ids)

    @property
    def differences(self):
        """Places at which a copy has another message than the leader."""
        return [
            f"at {place} the leader has {identity}, {node} has {copy.get(place)}"
            for place, identity, _ in self.stored for node, copy in sorted(self.copies.items())
            if copy.get(place) != identity]

    def lines(self, lost):
        """What there is to say of some lost events, and of the broker."""
        lines = [self.line(*each) for each in lost[:NAMED]]
        if not self.is_current:
            lines.append("THE BROKER: not all nodes have come to have all of the stream")
        for title, items in (("acknowledged, and not in the stream", self.broken_promises),
                             ("copies that differ", self.differences)):
            lines.append(f"THE BROKER: {len(items)} {title}" + (f", such as {items[:NAMED]}" if items else ""))
        return lines

    def line(self, host, identity, offset):
        openings = {each.split("-")[0] for _, each, of in self.stored if of == host}
        have = [(place, each) for place, each, _ in self.stored if covers(each, openings, offset)]
        promised = [each for each in self.acknowledged if covers(each, openings, offset)]
        nodes = [
            node for node, copy in self.copies.items() if any(covers(each, openings, offset) for each in copy.values())]
        return (f"{host}, {identity}, offset {offset}: acknowledged as {promised}; the stream has {have}; "
                f"the nodes that have it: {nodes}")


def covers(identity, openings, offset):
    """Whether the part of this id, OPENING-FIRST-END-CHECKSUM, has an offset of one of the openings."""
    opening, first, end, _ = (identity or "none-0-0-0").split("-")
    return opening in openings and int(first) <= offset < int(end)
