"""delivery.py: how what follows a capture scales: reading and delivering logs of 10^5 to 10^8 events, to 1 to 50
destinations, into files of JSON Lines and over HTTP.

Where over 20 million events are delivered, finished files are removed as they come: 10^8 would take 25 GB. The
processor time is the tool's, its start included.
"""
import os
import subprocess
import threading
import time

from measure import Program
from peers import Sink, lines_in

SWEPT_FROM = 20_000_000  # events: where so many are delivered, the files are removed as they come
SIZES = [100_000, 1_000_000, 10_000_000, 100_000_000]
DESTINATIONS = [1, 2, 5, 10, 20, 50]
LOG_BYTES, LINE_BYTES = 75, 250  # an event in the log, and as JSON, for the room on the disk


class Sweeper:
  """Counts the lines of finished files while a delivery runs, and removes the files; the rest at the end."""

  def __init__(self, folder):
    self.folder, self.lines, self.is_over = folder, 0, False
    self.thread = threading.Thread(target=self._run)
    self.thread.start()

  def _run(self):
    while not self.is_over:
      self._sweep()
      time.sleep(0.5)

  def _sweep(self):
    for path in list(self.folder.rglob("*.jsonl")):
      count = int(subprocess.run(["wc", "-l", path], capture_output=True, text=True, check=True).stdout.split()[0])
      path.unlink()
      self.lines += count

  def end(self):
    self.is_over = True
    self.thread.join()
    self._sweep()
    return self.lines + lines_in(self.folder)


def to_files(bench, log, events, destinations=1):
  folders = [bench.folder(f"out-{number}") for number in range(destinations)]
  sweepers = [Sweeper(folder) for folder in folders] if events * destinations > SWEPT_FROM else []
  arguments = [argument for folder in folders for argument in ("--to", folder)]
  taken = Program([bench.tool, "deliver", log, *arguments]).end()
  arrived = sum(sweeper.end() for sweeper in sweepers) if sweepers else sum(map(lines_in, folders))
  bench.remove(*folders, log / "cursors")
  if arrived != events * destinations:
    raise RuntimeError(f"{arrived} of {events * destinations} events are in the files")
  return taken


def to_sink(bench, log, events, preset):
  sink = Sink(bench, '"name":"sale.completed"')
  try:
    taken = Program([bench.tool, "deliver", log, "--to", f"http://127.0.0.1:{sink.port}/events", "--preset",
                     preset]).end()
    if sink.count != events: raise RuntimeError(f"{sink.count} of {events} events arrived over HTTP")
    return taken
  finally:
    sink.end()
    bench.remove(log / "cursors")


def to_nothing(bench, log, events):
  with open(os.devnull, "wb") as nothing: return Program([bench.tool, "cat", log], output=nothing).end()


def turns(bench, subjects, is_large):
  """Runs all in turns; what is large, once."""
  samples = {name: [] for name in subjects}
  for turn in range(bench.rounds):
    for name, run in subjects.items():
      if turn and is_large(name): continue
      try:
        samples[name].append(run())
      except (RuntimeError, OSError) as failure:
        bench.skip(name, str(failure))
  return samples


def measure(bench):
  sizes = [size for size in SIZES[:2 if bench.quick else None] if size <= bench.most]
  for events in sizes:
    line_bytes = LINE_BYTES if events <= SWEPT_FROM else 0
    if not bench.room(events * (LOG_BYTES + line_bytes), f"a log of {events:,} events"): break
    log = bench.log(events)
    subjects = {
      "cat": lambda: to_nothing(bench, log, events), "files": lambda: to_files(bench, log, events),
      "http json": lambda: to_sink(bench, log, events, "json")}
    if events <= SWEPT_FROM: subjects["http jsonl"] = lambda: to_sink(bench, log, events, "jsonl")
    samples = turns(bench, subjects, is_large=lambda name: events > 1_000_000)
    for name, taken in samples.items():
      bench.add_rates(taken, events, bench="delivery-events", subject=name)
    if events != 1_000_000: bench.remove(log)
  events = 100_000 if bench.quick else 1_000_000
  log = bench.log(events)
  counts = DESTINATIONS[:3] if bench.quick else DESTINATIONS
  subjects = {count: lambda count=count: to_files(bench, log, events, count) for count in counts
              if bench.room(min(events * count, SWEPT_FROM) * LINE_BYTES, f"{count} destinations")}
  samples = turns(bench, subjects, is_large=lambda count: count > 5)
  for count, taken in samples.items():
    bench.add_rates(taken, events * count, bench="delivery-destinations", subject="files", destinations=count)
  bench.remove(log)
