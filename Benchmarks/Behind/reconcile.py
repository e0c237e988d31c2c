"""reconcile.py: a log held against a control with faults in 3 of 1,000 events, by size; and two copies of a log.

The control is a file of JSON Lines, which `weir cat` wrote. The counts of the report are checked against the faults.
"""
import json
import random
import shutil
import subprocess

from measure import Program, run

LOG_BYTES = 75  # an event in the log, for the room on the disk
LINE_BYTES = 230  # an event in the control
COPY_BYTES = 10_000_000_000


def control(bench, log, path):
  """Writes a control, and returns the counts that the report has to have."""
  choice = random.Random(1)
  expected = {"identical": 0, "differing": 0, "only_here": 0, "duplicate_there": 0}
  shown = subprocess.Popen([bench.tool, "cat", log], stdout=subprocess.PIPE)
  with open(path, "wb") as file:
    for line in shown.stdout:
      place = choice.random()
      if place < 0.001:
        expected["only_here"] += 1
        continue
      if place < 0.002: line = line.replace(b'"coupon":"', b'"coupon":"X', 1)
      expected["differing" if 0.001 <= place < 0.002 else "identical"] += 1
      file.write(line)
      if 0.002 <= place < 0.003:
        expected["duplicate_there"] += 1
        file.write(line)
  if shown.wait() != 0: raise RuntimeError("weir cat failed")
  return expected


def compared(bench, log, against, expected):
  """What one comparison takes."""
  scratch = bench.folder("scratch")
  report = bench.scratch / "report.json"
  with open(report, "w") as output:
    taken = Program(
      [bench.tool, "reconcile", log, "--against", against, "--json", "--scratch", scratch], output=output
    ).end(accepted=(0, 1))
  found = json.loads(report.read_text())
  wrong = {key: found[key] for key, count in expected.items() if found[key] != count}
  if wrong: raise RuntimeError(f"the report says {wrong}, and the faults are {expected}")
  return taken


def measure(bench):
  for events in (100_000, 1_000_000, 10_000_000):
    if bench.quick and events > 1_000_000: break
    if not bench.room(events * (LOG_BYTES + LINE_BYTES + 200), f"{events:,} events held against a control"): break
    log, path = bench.log(events), bench.scratch / "control.jsonl"
    expected = control(bench, log, path)
    samples = [compared(bench, log, path, expected) for _ in range(bench.rounds)]
    bench.add_rates(samples, events, bench="reconcile-events", subject="reconcile")
    path.unlink()
    bench.remove(log)
  events = (COPY_BYTES // 100 if bench.quick else COPY_BYTES) // LOG_BYTES
  if not bench.room(2 * events * LOG_BYTES, "two copies of a log"): return
  log, copy = bench.log(events), bench.scratch / "copy"
  shutil.copytree(log, copy)
  run("sync")
  samples = [compared(bench, log, copy, {"identical": events}) for _ in range(bench.rounds)]
  size = sum(file.stat().st_size for file in log.glob("*.weir"))
  bench.add_rates(samples, events, bench="reconcile-copies", subject="reconcile", log_bytes=size)
  bench.remove(log, copy)
