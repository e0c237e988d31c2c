"""batches.py: a log that leaves in batch segments: made at the source, written to a directory, put to `weir collect`.

The log is raw when a delivery begins, or batched already; a raw one is packed on the way. The processor time is that of
the tool, and over HTTP also of the collector, which checks each segment whole; the start of both is included. Events of
64 bytes and their number take 72 in the log.
"""
import json
import signal
import subprocess

from delivery import turns
from measure import Program, run

LOG_BYTES = 75  # an event in the log, for the room on the disk


def delivered(bench, log, destination):
  return run(bench.tool, "deliver", log, "--batches", "--as-captured", "--to", destination)


def check(bench, folder, events):
  """Whether the folder holds the events of the one log that was delivered to it."""
  logs = [path for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []
  found = 0
  for log in logs:
    shown = subprocess.run([bench.tool, "stat", log, "--json"], capture_output=True, text=True, check=True)
    found += json.loads(shown.stdout)["events"]
  if found != events: raise RuntimeError(f"{found} of {events} events are in the batches")


def to_directory(bench, log, events):
  folder = bench.folder("batches")
  taken = delivered(bench, log, folder)
  check(bench, folder, events)
  bench.remove(folder, log / "cursors")
  return taken


def to_collector(bench, log, events):
  folder = bench.folder("collected")
  collector = Program([bench.tool, "collect", folder, "--port", "0"], output=subprocess.PIPE)
  address = collector.process.stdout.readline().decode().split()[-1]
  try:
    taken = delivered(bench, log, address)
  finally:
    collecting = collector.stop(signal.SIGINT)
  check(bench, folder / "batches", events)
  bench.remove(folder, log / "cursors")
  return {"seconds": taken["seconds"],
          **{key: taken[key] + collecting[key] for key in ("cpu", "memory_mib", "own_mib")}}


def measure(bench):
  events = 1_000_000 if bench.quick else 10_000_000
  if not bench.room(3 * events * LOG_BYTES, f"{events:,} events in batches"): return
  log = bench.log(events)
  subjects = {"directory": to_directory, "http": to_collector}

  def sample(source):
    samples = turns(bench, {name: lambda send=send: send(bench, log, events) for name, send in subjects.items()},
                    is_large=lambda name: False)
    for name, taken in samples.items():
      bench.add_rates(taken, events, bench="delivery-batches", subject=name, source=source)

  sample("raw")
  bench.add_rates([run(bench.tool, "batch", log)], events, bench="delivery-batches", subject="batch", source="raw")
  sample("batched")
  bench.remove(log)
