#!/usr/bin/env python3
"""service_test.py SERVICE [--rounds N] [--seed N]: loads the service, kills it, and holds its answers against its log.

wrk loads the service through 16 connections, while clients order and ask, and note each answer. The
service is killed with SIGKILL at a random moment, and continues in the next round with the same log.
At the end it is stopped in order. Then:

- each order that was answered with 200 is delivered, once;
- each request that was answered is delivered as a request event, once, with its user and with the status
  of its answer;
- no event is delivered twice.
"""

import argparse
import collections
import http.client
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True

from running import Failure, Service, delivered_events  # noqa: E402

CLIENTS = 8
LEAST_ANSWERS = 200


class Client(threading.Thread):
    """Orders and asks in turn, one request after the other, until the service is gone."""

    def __init__(self, port, number):
        super().__init__()
        self.port = port
        self.number = number
        self.orders = []
        self.statuses = {}

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        try:
            while True:
                self.number += 1
                is_order = self.number % 2 == 0
                method, path = ("POST", f"/orders/{self.number}") if is_order else ("GET", f"/items/{self.number}")
                headers = {"X-Request-ID": str(self.number), "X-User": f"user-{self.number % 50}"}
                connection.request(method, path, headers=headers)
                answer = connection.getresponse()
                # A body that was not sent whole is an answer nevertheless: its head was sent.
                self.statuses[self.number] = answer.status
                answer.read()
                if answer.status == 200 and is_order:
                    self.orders.append(self.number)
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()


def load(service, round_number, chance):
    """Lets clients ask until the service is killed under them."""
    wrk = subprocess.Popen(
        ["wrk", "-t1", "-c16", "-d600s", f"http://127.0.0.1:{service.port}/items/7"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    clients = [Client(service.port, (round_number * CLIENTS + index) << 32) for index in range(CLIENTS)]
    try:
        for client in clients:
            client.start()
        while sum(len(client.statuses) for client in clients) < LEAST_ANSWERS:
            if not any(client.is_alive() for client in clients):
                raise Failure("the service stopped answering before it was killed")
            time.sleep(0.01)
        time.sleep(chance.random())
        if wrk.poll() is not None:
            raise Failure("wrk ended before the service was killed")
        service.kill()
        for client in clients:
            client.join()
    finally:
        wrk.terminate()
        wrk.wait()
    return clients


def judge(events, clients):
    """Holds the events against the answers. Returns what is wrong."""
    problems = []

    def check(is_right, problem):
        if not is_right and len(problems) < 20:
            problems.append(problem)

    ids = collections.Counter(event["id"] for event in events)
    check(not [1 for count in ids.values() if count > 1], "events are delivered twice")
    orders = collections.Counter(
        event["fields"]["order"] for event in events if event["name"] == "ordering.ordered")
    requests = {}
    for event in events:
        if event["name"] == "http.request" and "request" in event.get("context", {}).get("fields", {}):
            requests.setdefault(event["context"]["fields"]["request"], []).append(event)
    for client in clients:
        for number in client.orders:
            check(orders[number] == 1, f"the order {number} was answered, and is there {orders[number]} times")
        for number, status in client.statuses.items():
            found = requests.get(str(number), [])
            check(len(found) == 1, f"the request {number} was answered, and is there {len(found)} times")
            for event in found:
                route = "/orders/{order}" if number % 2 == 0 else "/items/{item}"
                check(event["fields"]["route"] == route, f"the request {number} has the route {event['fields']}")
                check(event["fields"]["status"] == status, f"the answer {status} to {number} is {event['fields']}")
                user = event["context"]["user"]["id"]
                check(user == f"user-{number % 50}", f"the request {number} has the user {user}")
    return problems


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser()
    parser.add_argument("service", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    chance = random.Random(options.seed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-service-"))
    clients = []
    try:
        places = {"log": folder / "log", "delivered": folder / "delivered"}
        for round_number in range(options.rounds):
            with Service(options.service, **places) as service:
                clients += load(service, round_number, chance)
        with Service(options.service, **places) as service:
            service.stop()
        events = list(delivered_events(places["delivered"]))
        problems = judge(events, clients)
        answered = sum(len(client.statuses) for client in clients)
        orders = sum(len(client.orders) for client in clients)
        refused = sum(status != 200 for client in clients for status in client.statuses.values())
        print(f"{options.rounds} kills: {len(events)} events delivered; {answered} answers noted, {orders} of them "
              f"audited orders, {refused} refused")
        if problems:
            raise Failure("\n".join(problems))
        if not orders:
            raise Failure("no order was answered: nothing was tested")
    except Exception as failure:  # whatever it is, the files say more
        print(f"FAILED, seed {options.seed}; the files are in {folder}: {failure}", file=sys.stderr)
        return 1
    shutil.rmtree(folder)
    print("ok: each answered order and each answered request is in the log and delivered, once")
    return 0


if __name__ == "__main__":
    sys.exit(main())
