"""peers.py: from a file of lines to files of JSON Lines, and over HTTP: Weir beside syslog-ng and rsyslog.

The input is the tool's sample of web requests, many times over. Each program makes one JSON object of each line, with
the line in it. Weir does it twice: as one process that records the file into a log and delivers the log, so that no
event is lost by a kill, and as a delivery out of a log that there is already, of the same events. The daemons are ended
when the last line has arrived: their time ends then, and what they take to end is in their processor time.
"""
import http.client
import signal
import subprocess
import time

from measure import Program


class Sink:
  """The endpoint. Counts how often the mark, which each event has once, stood in what it was sent. In the lines
  themselves the mark's quotes would be escaped."""

  def __init__(self, bench, mark):
    self.program = Program([bench.program("sink"), mark], output=subprocess.PIPE)
    self.port = int(self.program.process.stdout.readline())

  @property
  def count(self):
    connection = http.client.HTTPConnection("127.0.0.1", self.port)
    connection.request("GET", "/")
    answer = int(connection.getresponse().read())
    connection.close()
    return answer

  def end(self): self.program.stop(signal.SIGKILL)


def lines_in(folder):
  """The lines in the files of a folder, by their newlines."""
  count = 0
  for path in folder.rglob("*"):
    if not path.is_file(): continue
    with open(path, "rb") as file:
      while piece := file.read(1 << 20): count += piece.count(b"\n")
  return count


class Daemon:
  """syslog-ng or rsyslog, from the packages that Peers/unpack.sh unpacked."""

  def __init__(self, bench, name):
    self.bench, self.name = bench, name
    self.root = bench.build / "bench" / "syslog" / "unpacked"
    self.configurations = bench.sources / "Peers" / name

  @property
  def is_there(self): return (self.root / "usr" / "sbin" / {"rsyslog": "rsyslogd"}.get(self.name, self.name)).exists()

  def start(self, folder, route, source, port):
    libraries = self.root / "usr" / "lib" / "x86_64-linux-gnu"
    configuration = folder / "daemon.conf"
    text = (self.configurations / f"{route}.conf").read_text()
    (folder / "work").mkdir()
    (folder / "out").mkdir()
    for name, value in {"INPUT": source, "OUTPUT": folder / "out" / "events.jsonl", "WORK": folder / "work",
                        "PORT": port}.items():
      text = text.replace(f"@{name}@", str(value))
    configuration.write_text(text)
    environment = {"LD_LIBRARY_PATH": f"{libraries}:{self.root}/lib/x86_64-linux-gnu:{self.root}/usr/lib/syslog-ng"}
    if self.name == "rsyslog":
      arguments = [self.root / "usr/sbin/rsyslogd", "-n", "-f", configuration, "-i", folder / "work/pid",
                   "-M", libraries / "rsyslog"]
    else:
      arguments = [self.root / "usr/sbin/syslog-ng", "-F", "--no-caps", "-f", configuration, "-p", folder / "work/pid",
                   "-R", folder / "work/persist", "-c", folder / "work/control",
                   "--module-path", self.root / "usr/lib/syslog-ng/3.38"]
    return Program(arguments, environment=environment, cwd=folder / "work")


def wait_for(program, arrived, wanted, limit=600):
  """Polls until everything has arrived. Seconds since the program was started."""
  while time.monotonic() - program.start < limit:
    if program.has_ended: break
    here = arrived()
    if here >= wanted: return time.monotonic() - program.start
    time.sleep(0.02)
  program.stop(signal.SIGKILL)
  said = program.errors.decode(errors="replace")
  raise RuntimeError(f"{program.name}: {arrived()} of {wanted} lines arrived: {said}")


class Lines:
  """The lines of a file that grows."""

  def __init__(self, path): self.path, self.at, self.count = path, 0, 0

  def __call__(self):
    if not self.path.exists(): return 0
    with open(self.path, "rb") as file:
      file.seek(self.at)
      while piece := file.read(1 << 20):
        self.at += len(piece)
        self.count += piece.count(b"\n")
    return self.count


def daemon_once(bench, daemon, route, source, events):
  folder = bench.folder(daemon.name)
  sink = Sink(bench, '"event":"line"') if route == "http" else None
  try:
    program = daemon.start(folder, route, source, sink.port if sink else 0)
    arrived = (lambda: sink.count) if sink else Lines(folder / "out" / "events.jsonl")
    seconds = wait_for(program, arrived, events)
    return {**program.stop(), "seconds": seconds}
  finally:
    if sink: sink.end()
    bench.remove(folder)


def weir_once(bench, route, source, events, log=None):
  """`log`: a log to deliver. Else the source is recorded and delivered by one process."""
  folder = bench.folder("weir")
  sink = Sink(bench, '"name":"') if route == "http" else None
  to = ["--to", f"http://127.0.0.1:{sink.port}/events" if sink else folder / "out"]
  if sink: to += ["--preset", "jsonl"]
  try:
    if log: taken = Program([bench.tool, "deliver", log, *to]).end()
    else: taken = Program([bench.tool, "record", folder / "log", source, "--format", "lines", *to]).end()
    arrived = sink.count if sink else lines_in(folder / "out")
    if arrived != events: raise RuntimeError(f"weir: {arrived} of {events} events arrived by {route}")
    return taken
  finally:
    if sink: sink.end()
    bench.remove(folder)
    if log: bench.remove(log / "cursors")


def measure(bench):
  repeats = 10 if bench.quick else 100
  source = bench.scratch / "input.log"
  bench.scratch.mkdir(parents=True, exist_ok=True)
  sample = bench.sample.read_bytes()
  with open(source, "wb") as file:
    # No line twice: Weir would mark the events as duplicates.
    for number in range(repeats): file.write(sample.replace(b"\n", b" %d\n" % number))
  events = sample.count(b"\n") * repeats
  log = bench.scratch / "recorded"
  Program([bench.tool, "record", log, source, "--format", "lines"]).end()
  subjects = {"weir record": lambda route: weir_once(bench, route, source, events)}
  for name in ("syslog-ng", "rsyslog"):
    daemon = Daemon(bench, name)
    if daemon.is_there: subjects[name] = lambda route, daemon=daemon: daemon_once(bench, daemon, route, source, events)
    else: bench.skip(name, "make bench-deps unpacks it")
  subjects["weir deliver"] = lambda route: weir_once(bench, route, source, events, log=log)
  for route in ("file", "http"):
    samples = {name: [] for name in subjects}
    for turn in range(bench.rounds):
      for name in list(subjects)[turn % len(subjects):] + list(subjects)[:turn % len(subjects)]:
        try:
          samples[name].append(subjects[name](route))
        except (RuntimeError, OSError) as failure:
          bench.skip(f"{name}, {route}", str(failure))
    for name, taken in samples.items():
      bench.add_rates(taken, events, bench="peers", subject=name, route=route)
  source.unlink()
  bench.remove(log)
