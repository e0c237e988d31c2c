#!/usr/bin/env python3
"""service_bench.py SERVICE [--turns N] [--seconds N] [--connections N] [--directory DIR]: what Weir costs a service.

The service runs on one processor, all its threads included, and wrk on another. Services without Weir,
with Weir, with Weir that drains its lanes each millisecond, and with delivery to files besides are loaded in
turns, so that what else the machine does meets all. With Weir each request is an event with a user and
a request id. Then orders are loaded, each of which is on disk before its answer, beside the time that
the disk takes to sync a block by itself.
"""

import argparse
import os
import pathlib
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

from running import Service  # noqa: E402

HEADERS = ["-H", "X-User: ada", "-H", "X-Request-ID: 4bf92f3577b34da6"]


def sync_time(directory, count=500):
    """The median time, in milliseconds, in which a block of 4 KiB is on disk."""
    path = pathlib.Path(directory) / "sync"
    times = []
    with open(path, "wb", buffering=0) as file:
        for _ in range(count):
            start = time.perf_counter()
            file.write(bytes(4096))
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - start)
    path.unlink()
    return statistics.median(times) * 1000


def wrk(service, processors, connections, seconds, path, script=None):
    """Loads a service. Returns requests a second, microseconds of processor time a request, p50 and p99 in µs."""
    used = service.processor_time()
    command = ["taskset", "-c", processors, "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", *HEADERS]
    if script:
        command += ["-s", script]
    output = subprocess.run(
        [*command, f"http://127.0.0.1:{service.port}{path}"], check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in output or "Socket errors" in output:
        sys.exit(f"wrk found errors:\n{output}")
    units = {"us": 1, "ms": 1000, "s": 1_000_000}

    def percentile(name):
        number, unit = re.search(rf"\b{name}%\s+([\d.]+)(us|ms|s)\b", output).groups()
        return float(number) * units[unit]

    requests = int(re.search(r"(\d+) requests in", output)[1])
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1])
    return rate, (service.processor_time() - used) / requests * 1e6, percentile(50), percentile(99)


def in_turns(services, turns, load):
    """Loads the services in turns, each turn in the other order. Returns each service's measurements."""
    results = {name: [] for name in services}
    for turn in range(turns):
        for name in list(services)[:: 1 if turn % 2 == 0 else -1]:
            results[name].append(load(services[name]))
    return results


def table(results, reference):
    print(f"{'':>18} {'requests/s':>11} {'of ' + reference:>22} {'us a request':>13} {'p50 us':>8} {'p99 us':>8}")
    for name, measured in results.items():
        ratios = [a[0] / b[0] for a, b in zip(measured, results[reference])]
        ratio = f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
        rate, used, p50, p99 = (statistics.median(column) for column in zip(*measured))
        print(f"{name:>18} {rate:>11,.0f} {ratio:>22} {used:>13.2f} {p50:>8,.0f} {p99:>8,.0f}")


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser()
    parser.add_argument("service", type=pathlib.Path)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--audit-connections", type=int, default=128)
    parser.add_argument("--directory", default=".", help="where the logs lie (.)")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-service-", dir=options.directory))
    print(f"{platform.platform()}, {os.cpu_count()} processors, load {' '.join(f'{x:.2f}' for x in os.getloadavg())}")
    last = str(os.cpu_count() - 1)
    limits = {"byte_limit": 1 << 30, "at_byte_limit": "drop_oldest", "remove_delivered": "true"}
    services, started = {}, []

    def start(name, *places, **limits):
        services[name] = Service(options.service, *places, processors="0", **limits)
        started.append(services[name])

    try:
        start("without Weir")
        start("with Weir", folder / "log", **limits)
        start("drained each ms", folder / "often", **limits, drain_interval="1ms")
        start("and delivered", folder / "other", folder / "delivered", **limits)
        for service in started:
            wrk(service, last, options.connections, 2, "/items/7")
        table(in_turns(services, options.turns, lambda service: wrk(
            service, last, options.connections, options.seconds, "/items/7")), "without Weir")
        script = folder / "orders.lua"
        script.write_text('local number = 0\nrequest = function()\n  number = number + 1\n'
                          '  return wrk.format("POST", "/orders/" .. number)\nend\n')
        before = sync_time(folder)
        # Without delivery: its files are synced too, by the same disk.
        del services["drained each ms"], services["and delivered"]
        table(in_turns(services, options.turns, lambda service: wrk(
            service, last, options.audit_connections, options.seconds, "/", script)), "without Weir")
        print(f"orders, with Weir each on disk before its answer, {options.audit_connections} connections; a block of "
              f"4 KiB by itself is on disk in {before:.2f} ms before, {sync_time(folder):.2f} ms after")
        for service in started:
            service.stop()
    finally:
        for service in started:
            if service.process.poll() is None:
                service.kill()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
