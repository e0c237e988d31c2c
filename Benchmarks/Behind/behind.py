"""behind.py: what stands behind a capture, measured from outside. `make behind-bench`.

    behind.py --tool WEIR --results FILE [--build .build] [--only PART,…]
              [--quick] [--rounds N] [--most EVENTS] [--monitor latency,captures,page,load]

Appends one line of JSON a row to the results, as the other benchmarks do. What is not there is left out and listed.
"""
import argparse
import importlib
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True

from measure import Bench  # noqa: E402

PARTS = ["peers", "delivery", "batches", "disk", "idle", "service", "monitor", "reconcile"]


def contents(path): return pathlib.Path(path).read_text().strip()


def machine(tree):
  """Where the figures come from, as capture-bench writes it to machine.json."""
  model = re.search(r"^model name\s*: (.*)$", contents("/proc/cpuinfo"), re.M)
  shown = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=tree, capture_output=True, text=True)
  gigabytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
  return {
    "command": "make bench-behind", "commit": shown.stdout.strip() or "unknown", "date": time.strftime("%Y-%m-%d"),
    "processor": model[1] if model else "unknown processor", "processors": str(len(os.sched_getaffinity(0))),
    "memory": f"{gigabytes:.0f} GB", "kernel": contents("/proc/sys/kernel/osrelease"),
    "clock": contents("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    "load": " ".join(contents("/proc/loadavg").split()[:3])}


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--tool", type=pathlib.Path, required=True,
                      help="a release build of weir, with the traits HTTP, Collector and Monitor")
  parser.add_argument("--results", type=pathlib.Path, required=True)
  parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(".build"))
  parser.add_argument("--only", default=",".join(PARTS))
  parser.add_argument("--rounds", type=int)
  parser.add_argument("--most", type=int, default=100_000_000, help="events of the largest log")
  parser.add_argument("--monitor", type=lambda text: text.split(","), default="latency,captures,page,load",
                      help="what of the part monitor")
  parser.add_argument("--quick", action="store_true", help="a tenth of the events, one round")
  options = parser.parse_args()
  bench = Bench(options)
  bench.sources = pathlib.Path(__file__).resolve().parent.parent
  bench.sample = bench.sources.parent / "Sources" / "WeirTool" / "Sample" / "apache_access.log"
  bench.add(bench="machine", subject="machine", **machine(bench.sources))
  try:
    for part in options.only.split(","):
      if part not in PARTS: parser.error(f"no part is called {part}")
      start = time.monotonic()
      print(f"{part}:", flush=True)
      importlib.import_module(part).measure(bench)
      print(f"{part}: measured in {time.monotonic() - start:.0f} s", flush=True)
  finally:
    bench.remove(bench.scratch)
    for what, why in bench.skipped: print(f"skipped: {what}: {why}")


main()
