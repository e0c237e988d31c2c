"""disk.py: the bytes on disk of an event, of three real inputs: as JSON Lines, gzipped, in SQLite, in a log.

The inputs are the tool's sample of web requests, the record of the packages that this machine installed
(/var/log/dpkg.log), and the history of this tree's repository, a commit an event. JSON Lines are what a logger of
structured events writes: time, name and fields. SQLite has a table with a column for each field. A log has besides an
id of 128 bits for each event, two times, and checksums. Its ring, which has one size whatever the events, is left out.
"""
import gzip
import json
import sqlite3
import subprocess

from measure import run


def commits(bench):
  """The commits as JSON Lines that `weir record` takes."""
  shown = subprocess.run(
    ["git", "log", "--no-renames", "--shortstat", "--format=%x01%H%x02%P%x02%an%x02%at%x02%s"], cwd=bench.sources,
    capture_output=True, text=True)
  lines = []
  for entry in shown.stdout.split("\x01")[1:]:
    head, _, statistics = entry.partition("\n")
    commit, parents, author, time, subject = head.split("\x02")
    numbers = {word.strip().split(" ", 1)[1]: int(word.split()[0]) for word in statistics.split(",") if word.strip()}
    fields = {"commit": commit, "parents": parents, "author": author, "time": int(time), "subject": subject}
    for name in ("file", "insertion", "deletion"):
      fields[name + "s"] = sum(count for text, count in numbers.items() if text.startswith(name))
    lines.append(json.dumps({"event": "commit", "fields": fields}, ensure_ascii=False))
  return ("\n".join(lines) + "\n").encode() if lines else b""


def segments(log): return sum(path.stat().st_blocks * 512 for path in log.glob("*.weir*"))


def plain_value(value):
  return value if isinstance(value, (int, float, str, type(None))) else json.dumps(value)


def in_sqlite(path, events):
  database = sqlite3.connect(path)
  tables = {}
  for event in events:
    tables.setdefault(event["event"], {}).update(event["fields"])
  for name, fields in tables.items():
    columns = "".join(f', "{field}"' for field in fields)
    database.execute(f'create table "{name}" (recorded integer{columns})')
  for event in events:
    names = list(event["fields"])
    columns = "".join(f', "{name}"' for name in names)
    database.execute(
      f'insert into "{event["event"]}" (recorded{columns}) values (?{", ?" * len(names)})',
      [event["nanoseconds"], *map(plain_value, event["fields"].values())])
  database.commit()
  database.close()
  return path.stat().st_size


def measure(bench):
  folder = bench.folder("disk")
  inputs = []
  for name, format, content in [
      ("web requests", "clf", bench.sample.read_bytes()), ("packages", "lines", read("/var/log/dpkg.log")),
      ("commits", "jsonl", commits(bench))]:
    if content.count(b"\n") < 100: bench.skip(f"bytes on disk of {name}", "there are not 100 lines on this machine")
    else: inputs.append((name, format, content))
  for name, format, content in inputs:
    (folder / "input").write_bytes(content)
    log = folder / "log"
    run(bench.tool, "record", log, folder / "input", "--format", format)
    with open(folder / "cat", "wb") as file: run(bench.tool, "cat", log, output=file)
    events = [json.loads(line) for line in open(folder / "cat")]
    for number, event in enumerate(events): event["nanoseconds"] = 1_764_000_000_000_000_000 + number * 1_234_567
    lines = b"".join(
      json.dumps({"recorded": event["time"], "event": event["event"], **event["fields"]}, separators=(",", ":"),
                 ensure_ascii=False).encode() + b"\n" for event in events)
    sizes = {"the input": len(content), "JSON Lines": len(lines), "JSON Lines, gzip": len(gzip.compress(lines, 6)),
             "SQLite": in_sqlite(folder / "sqlite", events), "Weir": segments(log)}
    run(bench.tool, "batch", log)
    sizes["Weir, batch segments"] = segments(log)
    for subject, size in sizes.items():
      bench.add(bench="disk", input=name, subject=subject, events=len(events), bytes_an_event=size / len(events))
    bench.remove(log)
    (folder / "sqlite").unlink()
  bench.remove(folder)


def read(path):
  try:
    return open(path, "rb").read()
  except OSError:
    return b""
