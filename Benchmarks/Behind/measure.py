"""measure.py: runs a program, and says what it took: seconds, processor time, memory. And the rows of the results."""
import ctypes
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import threading
import time


def memory_of(pid):
  """The peak of resident memory, and the resident memory that is no file's, in KiB."""
  peak = own = 0
  try:
    for line in open(f"/proc/{pid}/status"):
      if line.startswith("VmHWM:"): peak = int(line.split()[1])
      if line.startswith("RssAnon:"): own = int(line.split()[1])
  except OSError:
    pass
  return peak, own


def die_with_parent():
  ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Program:
  """A program that runs. Its memory is looked at every 10 ms, its processor time is the kernel's at its end."""

  def __init__(self, arguments, environment=None, output=subprocess.DEVNULL, cwd=None, stdin=subprocess.DEVNULL):
    self.peak = self.own = 0
    self.name = pathlib.Path(arguments[0]).name
    self.start = time.monotonic()
    self.process = subprocess.Popen(
      [str(argument) for argument in arguments], env={**os.environ, **(environment or {})}, stdout=output, stdin=stdin,
      cwd=cwd, stderr=subprocess.PIPE, preexec_fn=die_with_parent)
    self.pid = self.process.pid
    self.errors = b""
    self.reading = threading.Thread(target=self._read_errors, daemon=True)
    self.reading.start()
    self.watching = threading.Thread(target=self._watch, daemon=True)
    self.watching.start()

  def _read_errors(self):
    for line in self.process.stderr: self.errors = (self.errors + line)[-4000:]

  def _watch(self):
    while self.process.returncode is None:
      peak, own = memory_of(self.pid)
      self.peak, self.own = max(self.peak, peak), max(self.own, own)
      time.sleep(0.01)

  @property
  def has_ended(self):
    return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

  def stop(self, number=signal.SIGTERM):
    self.process.send_signal(number)
    return self.end(accepted=None)

  def end(self, accepted=(0,)):
    """Waits for the end. Seconds since the start, and processor seconds, user and system, children included."""
    _, status, usage = os.wait4(self.pid, 0)
    seconds = time.monotonic() - self.start
    self.process.returncode = os.waitstatus_to_exitcode(status)
    self.reading.join(1)
    if accepted is not None and self.process.returncode not in accepted:
      raise RuntimeError(f"{self.name} ended with {self.process.returncode}: {self.errors.decode(errors='replace')}")
    return {"seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime, "memory_mib": self.peak / 1024,
            "own_mib": self.own / 1024}


def run(*arguments, **options):
  return Program(arguments, **options).end()


class Bench:
  """Where things are, what was measured, and what could not be."""

  def __init__(self, options):
    self.build = options.build.resolve()
    self.tool = options.tool.resolve()
    self.quick = options.quick
    self.rounds = options.rounds or (1 if options.quick else 3)
    self.scratch = self.build / "bench" / f"behind-{os.getpid()}"
    self.results = options.results
    self.most = options.most
    self.monitor = options.monitor
    self.skipped = []

  def program(self, name): return self.build / "c" / "bench" / name

  def folder(self, name):
    """An empty folder of that name."""
    path = self.scratch / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    path.chmod(0o700)
    return path

  def log(self, events):
    """A log of that many standard events, with nothing delivered; made once for several uses one after the other."""
    path = self.scratch / f"log-{events}"
    if not path.exists():
      self.scratch.mkdir(parents=True, exist_ok=True)
      run(self.program("make_log"), path, events)
    shutil.rmtree(path / "cursors", ignore_errors=True)
    return path

  def remove(self, *paths):
    for path in paths: shutil.rmtree(path, ignore_errors=True)

  def room(self, bytes_needed, what):
    """Whether the disk has room; if not, what is left out is listed at the end."""
    free = shutil.disk_usage(self.build).free
    if free > bytes_needed + (4 << 30): return True
    self.skip(what, f"{bytes_needed / 1e9:.0f} GB are needed, and {free / 1e9:.0f} GB are free")
    return False

  def skip(self, what, why):
    if (what, why) not in self.skipped: self.skipped.append((what, why))

  def add(self, **row):
    row = {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}
    with open(self.results, "a") as file: file.write(json.dumps(row) + "\n")
    print("  " + ", ".join(f"{key} {value:,}" if isinstance(value, (int, float)) else str(value)
                           for key, value in row.items()), flush=True)

  def add_rates(self, samples, events, **row):
    """One row: medians of what several runs took, over the events."""
    if not samples: return
    middle = {key: statistics.median(sample[key] for sample in samples) for key in samples[0]}
    self.add(**row, events=events, events_per_second=events / middle["seconds"],
             cpu_ns=middle["cpu"] / events * 1e9, events_per_core_second=events / middle["cpu"],
             memory_mib=middle["memory_mib"], own_mib=middle["own_mib"])
