"""monitor.py: the live monitor, with its page in Chromium without a window: how long an event takes from its capture to
the pixel, what a capture pays for being watched, and what the page and the monitor take.

A program captures standard events at a steady pace; its log keeps the last 2 GiB. At a million a second the page shows
a part of them, by design, and only rows that came into sight count. The time of a row is that of the animation frame
behind the one that drew it, from the page's `weirPainted`; the time of its capture is in the log.
"""
import contextlib
import datetime
import http.client
import json
import os
import pathlib
import selectors
import shutil
import statistics
import subprocess
import sys
import threading
import time
import urllib.parse

from measure import Program

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Tests" / "Monitor"))

MOST = 1_000_000  # events a second
RATES = [100, 1_000, MOST]  # at 100 all rows come into sight
LOG_BYTES = 3 << 30  # what the writer's log takes on the disk at most
WARM_UP = 2  # seconds


class Writer(Program):
  """Captures at a steady pace. At 0 events a second: a program with an open log, which is silent."""

  def __init__(self, bench, log, rate, seconds, *options, prefix=()):
    self.silence = None
    if rate:
      super().__init__([*prefix, bench.program("paced_writer"), log, rate, seconds, *options], output=subprocess.PIPE)
      return
    reading, self.silence = os.pipe()
    super().__init__([bench.tool, "record", log], stdin=reading)
    os.close(reading)
    os.write(self.silence, b"an event, so that there is a log\n")

  def result(self):
    """Waits for the end. What the writer says of itself."""
    if self.silence is not None: os.close(self.silence)
    self.end()
    return json.loads(self.process.stdout.read()) if self.process.stdout else {"events": 0}


class Watching:
  """A monitor of a log that need not be there yet, and pages of it."""

  def __init__(self, bench, log, driver):
    self.driver, self.written = driver, 0
    self.program = Program([bench.tool, "monitor", log, "--no-browser"], output=subprocess.PIPE,
                           environment={"XDG_STATE_HOME": str(log.parent / "state")})
    self.address = urllib.parse.urlsplit(self.program.process.stdout.readline().decode().strip())

  def open(self, pages=1):
    """The first address has the token; the others get by with the cookie."""
    from stage import wait
    for number in range(pages):
      if number: self.driver.switch_to.new_window("tab")
      self.driver.get(self.address._replace(query="" if number else self.address.query).geturl())
      wait(lambda: self.text("connection") == "connected", "the page to be connected")

  def js(self, script): return self.driver.execute_script(script)

  def text(self, name): return self.js(f"return document.getElementById('{name}')?.textContent")

  @property
  def cpu(self): return time.clock_gettime(~self.program.pid << 3 | 2)

  def end(self):
    for handle in self.driver.window_handles[1:]:
      self.driver.switch_to.window(handle)
      self.driver.close()
    self.driver.switch_to.window(self.driver.window_handles[0])
    self.driver.get("about:blank")
    return self.program.stop()


class Streams:
  """Readers of the monitor's stream that keep nothing."""

  def __init__(self, address, count):
    self.address, self.count, self.is_over = address, count, False
    self.selector = selectors.DefaultSelector()
    connection, answer = self.ask(f"/?{address.query}")
    cookie = answer.getheader("Set-Cookie").split(";")[0]
    connection.close()
    for _ in range(count):
      connection, answer = self.ask("/stream", {"Cookie": cookie})
      if answer.status != 200: raise RuntimeError(f"the monitor answered {answer.status} to a stream")
      self.selector.register(connection.sock, selectors.EVENT_READ)
    self.thread = threading.Thread(target=self._read)
    self.thread.start()

  def ask(self, path, headers={}):
    connection = http.client.HTTPConnection(self.address.netloc)
    connection.request("GET", path, headers=headers)
    return connection, connection.getresponse()

  def _read(self):
    while not self.is_over:
      for key, _ in self.selector.select(0.1):
        if not key.fileobj.recv(1 << 20): self.selector.unregister(key.fileobj)

  def end(self):
    self.is_over = True
    self.thread.join()
    left = list(self.selector.get_map().values())
    for key in left: key.fileobj.close()
    if len(left) < self.count: raise RuntimeError("the monitor ended a stream")


@contextlib.contextmanager
def chromium(processor=None):
  """A browser. With a processor: the browser, and all that is started meanwhile, run there alone."""
  from stage import browser
  before = os.sched_getaffinity(0)
  if processor is not None: os.sched_setaffinity(0, {processor})
  try:
    driver = browser()
    try:
      yield driver
    finally:
      driver.quit()
  finally:
    os.sched_setaffinity(0, before)


@contextlib.contextmanager
def watched(bench, driver, rate, seconds, pages=1):
  """A monitor and its pages, of a writer that goes on for so many seconds. Afterwards `written` has the events a second
  that there were."""
  folder = bench.folder("monitor")
  seconds += 2 * WARM_UP
  watching = Watching(bench, folder / "log", driver)
  try:
    if pages: watching.open(pages)
    writer = Writer(bench, folder / "log", rate, seconds)
    time.sleep(WARM_UP)
    yield watching, folder / "log"
    if pages and watching.text("connection") != "connected": raise RuntimeError("the page lost its monitor")
    watching.written = writer.result()["events"] / seconds
  finally:
    watching.end()
    bench.remove(folder)


def percentile(values, part): return sorted(values)[min(len(values) - 1, int(len(values) * part))]


# ---- From capture to pixel -------------------------------------------------------------------------------------------

def capture_times(bench, log, first, count):
  """By offset, in milliseconds since 1970."""
  shown = subprocess.run([bench.tool, "cat", log, "--from", str(first), "--limit", str(count)], capture_output=True,
                         text=True, check=True).stdout
  events = map(json.loads, shown.splitlines())
  return {event["offset"]: datetime.datetime.fromisoformat(event["time"]).timestamp() * 1000 for event in events}


def latency(bench):
  seconds = 5 if bench.quick else 20
  for rate in RATES:
    painted = {}  # by the time of the frame: the offsets of the rows that it drew
    with chromium() as driver, watched(bench, driver, rate, seconds) as (watching, log):
      watching.js("weirPainted.splice(0)")
      for _ in range(seconds):
        time.sleep(1)
        for offset, at in watching.js("return weirPainted.splice(0)"): painted.setdefault(at, []).append(offset)
      taken = []
      for at, offsets in painted.items():
        times = capture_times(bench, log, min(offsets), max(offsets) - min(offsets) + 1)
        taken += [at - times[offset] for offset in offsets]
    bench.add(bench="monitor-latency", rate=rate, written=watching.written, rows=len(taken),
              p50_ms=percentile(taken, 0.5), p99_ms=percentile(taken, 0.99), most_ms=max(taken))


# ---- Captures --------------------------------------------------------------------------------------------------------

def seconds_of(writer, count):
  """The medians of the next whole seconds of a writer that measures."""
  now, lines = time.monotonic(), []
  while len(lines) < count:
    line = json.loads(writer.process.stdout.readline())
    if line["start"] >= now: lines.append(line)
  return {key: statistics.median(line[key] for line in lines) for key in ("capture_ns", "p999_ns")}


def captures_beside(bench, driver, prefix):
  """One writer, which is watched and is not, in turns. The third of them says how far the machine's own unrest goes."""
  pairs, seconds = (5, 2) if bench.quick else (15, 3)
  subjects = ["nothing", "monitor and page", "nothing, again"]
  samples = {name: [] for name in subjects}
  folder = bench.folder("monitor")
  writer = Writer(bench, folder / "log", MOST, 3600, "--measure", prefix=prefix)
  seconds_of(writer, 1)
  for turn in range(pairs):
    for name in subjects[:: -1 if turn % 2 else 1]:
      watching = Watching(bench, folder / "log", driver) if name == "monitor and page" else None
      if watching: watching.open()
      time.sleep(WARM_UP / 2)
      samples[name].append(seconds_of(writer, seconds))
      if watching: watching.end()
  writer.stop()
  bench.remove(folder)
  return samples


def captures(bench):
  processors = sorted(os.sched_getaffinity(0))
  for is_pinned in (True, False):
    if is_pinned and len(processors) < 2:
      bench.skip("captures beside a monitor on another processor", "there is one processor")
      continue
    with chromium(processors[0] if is_pinned else None) as driver:
      samples = captures_beside(bench, driver, ["taskset", "-c", processors[-1]] if is_pinned else [])
    for name, taken in samples.items():
      row = {}
      for key in taken[0]:
        ratios = [one[key] / other[key] for one, other in zip(taken, samples["nothing"])]
        row |= {key: statistics.median(sample[key] for sample in taken), f"{key}_ratio": statistics.median(ratios),
                f"{key}_least": min(ratios), f"{key}_most": max(ratios)}
      bench.add(bench="monitor-captures", subject=name, pinned=int(is_pinned), pairs=len(taken), **row)


# ---- The page's memory -----------------------------------------------------------------------------------------------

def below(pid):
  """The processes that this one started, those that they started, and so on."""
  for path in pathlib.Path("/proc").glob(f"{pid}/task/*/children"):
    for child in path.read_text().split():
      yield child
      yield from below(child)


def private_mb(pid):
  lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
  return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) * 1024 / 1e6


def renderer_mb(driver):
  """The private memory of the largest renderer: the browser keeps another one ready."""
  renderers = [pid for pid in below(driver.service.process.pid)
               if b"--type=renderer" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]
  return max(map(private_mb, renderers))


def heap_mb(driver):
  """What lives in the page's heap."""
  driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
  return driver.execute_cdp_cmd("Runtime.getHeapUsage", {})["usedSize"] / 1e6


def page(bench):
  seconds = 30 if bench.quick else 600
  with chromium() as driver:
    empty = {"heap_mb_empty": heap_mb(driver), "private_mb_empty": renderer_mb(driver)}
    row, most, looks = {}, 0, {seconds // 10: "first", seconds // 2: "half", seconds: "last"}
    with watched(bench, driver, MOST, seconds) as (watching, _):
      start = time.monotonic()
      for second in range(1, seconds + 1):
        time.sleep(max(0, start + second - time.monotonic()))
        private = renderer_mb(driver)
        most = max(most, private)
        if second not in looks: continue
        row |= {f"heap_mb_{looks[second]}": heap_mb(driver), f"private_mb_{looks[second]}": private,
                f"monitor_own_mib_{looks[second]}": watching.program.own / 1024}
      shown = watching.text("count")
  print(f"  the page says: {shown}")
  bench.add(bench="monitor-page", rate=MOST, written=watching.written, seconds=seconds, **empty, **row,
            private_mb_most=most)


# ---- The monitor's memory and processor time -------------------------------------------------------------------------

def load_once(bench, driver, rate, pages, streams, seconds):
  with watched(bench, driver, rate, seconds, pages) as (watching, _):
    readers = Streams(watching.address, streams) if streams else None
    cpu, start = watching.cpu, time.monotonic()
    time.sleep(seconds)
    percent = (watching.cpu - cpu) / (time.monotonic() - start) * 100
    if readers: readers.end()
  bench.add(bench="monitor-load", rate=rate, written=watching.written, pages=pages, streams=streams, percent=percent,
            memory_mib=watching.program.peak / 1024, own_mib=watching.program.own / 1024)


def load(bench):
  seconds = 4 if bench.quick else 20
  loads = [(rate, pages, 0) for rate in (0, 1_000, MOST) for pages in (0, 1)] + [(MOST, 4, 0), (MOST, 0, 16)]
  with chromium() as driver:
    for rate, pages, streams in loads: load_once(bench, driver, rate, pages, streams, seconds)


PARTS = {"latency": latency, "captures": captures, "page": page, "load": load}


def measure(bench):
  try:
    import selenium  # noqa: F401
  except ImportError:
    bench.skip("the monitor", "python3-selenium is not there; make need-browser installs it")
    return
  if not shutil.which("chromedriver"):
    bench.skip("the monitor", "chromium is not there; make need-browser installs it")
    return
  if not bench.room(LOG_BYTES, "the monitor"): return
  for part in bench.monitor: PARTS[part](bench)
