"""behind.py: what stands behind a capture, measured from outside. `make behind-bench`.

    behind.py --tool WEIR --results FILE [--build .build] [--only peers,delivery,disk,idle,service] [--quick]
              [--rounds N]

Appends one line of JSON a row to the results, as the other benchmarks do. What is not there is left out and listed.
"""
import argparse
import importlib
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True

from measure import Bench  # noqa: E402

PARTS = ["peers", "delivery", "disk", "idle", "service"]


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--tool", type=pathlib.Path, required=True, help="a release build of weir, with the trait HTTP")
  parser.add_argument("--results", type=pathlib.Path, required=True)
  parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(".build"))
  parser.add_argument("--only", default=",".join(PARTS))
  parser.add_argument("--rounds", type=int)
  parser.add_argument("--quick", action="store_true", help="a tenth of the events, one round")
  options = parser.parse_args()
  bench = Bench(options)
  bench.sources = pathlib.Path(__file__).resolve().parent.parent
  bench.sample = bench.sources.parent / "Sources" / "WeirTool" / "Sample" / "apache_access.log"
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
