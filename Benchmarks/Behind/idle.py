"""idle.py: wake-ups a second and the share of a core of processes that have nothing to do: a program with an open
tracker (weir record, whose input is silent), and beside it those that follow its log."""
import os
import pathlib
import time

from measure import Program


class Usage:
  """How often the threads of a process went to sleep, and its processor time, since it was looked at first."""

  def __init__(self, pid):
    self.pid, self.sleeps, self.tasks = pid, 0, None
    self.look()
    self.sleeps, self.start = 0, self.processor

  def look(self):
    """Often enough to see threads that end: the counts of a thread end with it."""
    # The process's clock: CPUCLOCK_SCHED of its id. Threads that ended are in it.
    self.processor = time.clock_gettime(~self.pid << 3 | 2)
    tasks = {}
    for task in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
      try:
        tasks[task.name] = int((task / "status").read_text().split("voluntary_ctxt_switches:")[1].split()[0])
      except OSError:
        continue
      self.sleeps += tasks[task.name] - (self.tasks or {}).get(task.name, 0)
    self.tasks = tasks


def measure(bench):
  seconds = 5 if bench.quick else 30
  folder = bench.folder("idle")
  log = folder / "log"
  reading, writing = os.pipe()
  record = Program([bench.tool, "record", log], stdin=reading)
  os.close(reading)
  os.write(writing, b"an event, so that there is a log\n")
  while not list(log.glob("*.weir*")): time.sleep(0.05)
  time.sleep(0.5)
  programs = {
    "a silent tracker": record,
    "cat --follow": Program([bench.tool, "cat", log, "--follow"]),
    "deliver --follow": Program([bench.tool, "deliver", log, "--to", folder / "out", "--follow"])}
  time.sleep(3)
  usages = {name: Usage(program.pid) for name, program in programs.items()}
  start = time.monotonic()
  while (taken := time.monotonic() - start) < seconds:
    time.sleep(0.2)
    for usage in usages.values(): usage.look()
  for name, usage in usages.items():
    bench.add(bench="follow-idle", subject=name, seconds=seconds, wakeups=usage.sleeps / taken,
              percent=(usage.processor - usage.start) / taken * 100)
  for name in ("deliver --follow", "cat --follow"): programs[name].stop()
  os.close(writing)
  record.end()
  bench.remove(folder)
