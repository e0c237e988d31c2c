"""service.py: a small web service with Weir and without, in turns: requests a second, processor time a request.

The service is Benchmarks/Service, with hummingbird: four requests, 1.25 events a request, three bindings, an inspector.
Three processes of it run: without Weir, without Weir but with a middleware that reads what is bound, and with Weir. wrk
loads one after the other with 16 connections; the two others sleep meanwhile.
"""
import shutil
import socket
import statistics
import subprocess
import time

from measure import Program

CONNECTIONS = 16


def free_port():
  with socket.socket() as taken:
    taken.bind(("127.0.0.1", 0))
    return taken.getsockname()[1]


class Shop:
  def __init__(self, program, *arguments):
    self.port = free_port()
    self.program = Program([program, "--port", self.port, *arguments], output=subprocess.PIPE)
    for _ in range(600):
      if self.program.has_ended: raise RuntimeError(f"the service ended: {self.program.errors.decode()}")
      try:
        socket.create_connection(("127.0.0.1", self.port)).close()
        return
      except OSError:
        time.sleep(0.05)
    raise RuntimeError("the service does not listen")

  def load(self, script, seconds):
    """Requests a second, nanoseconds of processor time a request, and the percentiles of the latency in µs."""
    before = time.clock_gettime(~self.program.pid << 3 | 2)
    shown = subprocess.run(
      ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", script, f"http://127.0.0.1:{self.port}"],
      capture_output=True, text=True, check=True).stdout
    taken = time.clock_gettime(~self.program.pid << 3 | 2) - before
    result = next(line for line in shown.splitlines() if line.startswith("result ")).split()[1:]
    rate, errors, p50, p99 = map(float, result)
    if errors: raise RuntimeError(f"{errors:.0f} requests failed")
    return {"rate": rate, "cpu_ns": taken / (rate * seconds) * 1e9, "p50": p50, "p99": p99}


def measure(bench):
  program = bench.build / "bench" / "service" / "release" / "shop"
  if not program.exists() or not shutil.which("wrk"):
    bench.skip("the service", "make service-build builds it, and make bench-deps installs wrk")
    return
  folder = bench.folder("service")
  shops = {"without Weir": Shop(program), "the middleware alone": Shop(program, "--middleware"),
           "with Weir": Shop(program, "--log", folder / "log")}
  script = bench.sources / "Service" / "requests.lua"
  rounds, seconds = (3, 2) if bench.quick else (10, 5)
  samples = {name: [] for name in shops}
  for turn in range(rounds + 1):
    for name in list(shops)[:: 1 if turn % 2 else -1]:
      taken = shops[name].load(script, seconds if turn else 2)
      if turn: samples[name].append(taken)  # the first turn warms up
  base = samples["without Weir"]
  for name, taken in samples.items():
    ratios = [one["rate"] / other["rate"] for one, other in zip(taken, base)]
    middle = {key: statistics.median(sample[key] for sample in taken) for key in taken[0]}
    bench.add(bench="service", subject=name, requests_per_second=middle["rate"], cpu_ns=middle["cpu_ns"],
              p50_us=middle["p50"], p99_us=middle["p99"], ratio=statistics.median(ratios), least_ratio=min(ratios),
              most_ratio=max(ratios))
  for shop in shops.values():
    shop.program.stop()
    for line in shop.program.process.stdout.read().decode().splitlines(): print(f"  {line}")
  bench.remove(folder)
