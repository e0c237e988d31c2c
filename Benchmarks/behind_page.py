"""behind_page.py: the charts and the tables of what stands behind a capture, and the README's table. For charts.py."""
import matplotlib.pyplot as plt
from drawing import DOCC, number, save, table
from matplotlib.ticker import FuncFormatter

LINES = {"weir-c": "#0b6bcb", "lttng-ust": "#7a4fbf", "write": "#8a8f98", "cat": "#8a8f98", "files": "#0b6bcb",
         "reconcile": "#0b6bcb",
         "http json": "#e0533d", "http jsonl": "#c98a2b"}
NAMES = {"cat": "weir cat", "files": "JSON Lines files", "http json": "HTTP, JSON", "http jsonl": "HTTP, JSON Lines"}


# ---- Charts ----------------------------------------------------------------------------------------------------------

def steps(panel, values, label, title):
  """An axis of a few values at equal distances."""
  panel.set_xticks(range(len(values)), [str(value) if value < 1e5 else f"10^{len(str(value)) - 1}" for value in values])
  panel.set_xlabel(label)
  panel.set_title(title, fontsize=10, loc="left")
  panel.set_ylim(0, panel.get_ylim()[1] * 1.1)
  panel.grid(axis="y", color="#e3e5e8", linewidth=0.8)
  panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))


def curve(panel, lines, values, key, by, scale=1, label=None):
  points = {line[by]: line[key] * scale for line in lines}
  places = [place for place, value in enumerate(values) if value in points]
  if not places: return
  name = lines[0]["subject"]
  panel.plot(places, [points[values[place]] for place in places], marker="o", markersize=4, color=LINES[name],
             label=label or NAMES.get(name, name))


def draw_draining(results):
  """What follows a capture, by threads and by events."""
  threads = sorted({line["threads"] for line in results.find(bench="draining") if line["threads"]})
  sizes = sorted({line["events"] for line in results.find(bench="draining-events")})
  if len(threads) < 2: return
  figure, panels = plt.subplots(1, 3, figsize=(12, 3.6))
  for name in ("weir-c", "lttng-ust"):
    lines = results.find(bench="draining", subject=name)
    curve(panels[0], lines, threads, "events_per_second", "threads", 1e-6)
    curve(panels[1], lines, threads, "cpu_ns", "threads")
  written = results.value("cpu_ns", bench="draining", subject="write")
  if written: panels[1].axhline(written, color=LINES["write"], linestyle="--", label="write")
  for name in ("weir-c", "write"):
    curve(panels[2], results.find(bench="draining-events", subject=name), sizes, "cpu_ns", "events")
  steps(panels[0], threads, "threads", "million events kept a second")
  steps(panels[1], threads, "threads", "ns of processor time an event, behind captures")
  steps(panels[2], sizes, "events, 1 thread", "ns of processor time an event, behind captures")
  for panel in panels: panel.legend(frameon=False, fontsize=9)
  figure.tight_layout()
  save(figure, "benchmark-draining")


def draw_delivery(results):
  sizes = sorted({line["events"] for line in results.find(bench="delivery-events")})
  counts = sorted({line["destinations"] for line in results.find(bench="delivery-destinations")})
  if len(sizes) < 2 or len(counts) < 2: return
  figure, panels = plt.subplots(1, 3, figsize=(12, 3.6))
  for name in NAMES:
    curve(panels[0], results.find(bench="delivery-events", subject=name), sizes, "cpu_ns", "events")
  lines = results.find(bench="delivery-destinations")
  curve(panels[1], lines, counts, "cpu_ns", "destinations")
  curve(panels[2], lines, counts, "memory_mib", "destinations", label="MiB of memory")
  steps(panels[0], sizes, "events in the log", "ns of processor time an event")
  steps(panels[1], counts, "destinations", "ns of processor time an event and destination")
  steps(panels[2], counts, "destinations", "MiB of memory")
  panels[0].legend(frameon=False, fontsize=9)
  figure.tight_layout()
  save(figure, "benchmark-delivery")


def draw_reconcile(results):
  lines = results.find(bench="reconcile-events")
  sizes = sorted({line["events"] for line in lines})
  if len(sizes) < 2: return
  figure, panels = plt.subplots(1, 2, figsize=(8, 3.4))
  curve(panels[0], lines, sizes, "cpu_ns", "events", 1e-3)
  curve(panels[1], lines, sizes, "memory_mib", "events")
  steps(panels[0], sizes, "events on each side", "µs of processor time an event")
  steps(panels[1], sizes, "events on each side", "MiB of memory")
  figure.tight_layout()
  save(figure, "benchmark-reconcile")


CHARTS = [draw_draining, draw_delivery, draw_reconcile]


# ---- Tables ----------------------------------------------------------------------------------------------------------

def pictured(name, description, text):
  """The table with its chart before it."""
  return f"![{description}]({name})\n\n{text}" if text and (DOCC / "Resources" / f"{name}.svg").exists() else text


def draining_table(results):
  rows = sorted(results.find(bench="draining"), key=lambda line: (line["threads"], line["subject"] != "weir-c"))
  return table(["", "threads", "million events kept a second", "ns of processor time an event", "of `write`", "MiB"],
               [[f'`{line["subject"]}`', str(line["threads"] or "–"), number(line["events_per_second"] / 1e6),
                 number(line["cpu_ns"]), f'{line["of_write"]:.2f}', number(line["memory_mib"])] for line in rows])


def rate_cells(line):
  return [f'{line["events_per_second"]:,.0f}', f'{line["cpu_ns"]:,.0f}', number(line["memory_mib"]),
          number(line["own_mib"])]


RATE_HEAD = ["events a second", "ns of processor time an event", "MiB of memory", "of which no file's"]


def peers_table(results):
  routes = {"file": "file", "http": "HTTP"}
  return table(["", "to", *RATE_HEAD],
               [[f'`{line["subject"]}`', routes[line["route"]], *rate_cells(line)]
                for line in results.find(bench="peers")])


def delivery_table(results):
  rows = [[NAMES[line["subject"]], f'{line["events"]:,}', "1" if line["subject"] != "cat" else "–", *rate_cells(line)]
          for line in results.find(bench="delivery-events")]
  rows += [[NAMES[line["subject"]], f'{line["events"] // line["destinations"]:,}', str(line["destinations"]),
            *rate_cells(line)] for line in results.find(bench="delivery-destinations")]
  return table(["", "events in the log", "destinations", *RATE_HEAD], rows)


def batches_table(results):
  names = {"batch": "`weir batch`", "directory": "to a directory", "http": "over HTTP to `weir collect`"}
  return table(["", "the log", *RATE_HEAD],
               [[names[line["subject"]], line["source"], *rate_cells(line)]
                for line in results.find(bench="delivery-batches")])


def reconcile_table(results):
  rows = [["a control of JSON Lines", f'{line["events"]:,}', number(line["events"] / line["events_per_second"]),
           *rate_cells(line)] for line in results.find(bench="reconcile-events")]
  rows += [[f'a copy of {line["log_bytes"] / 1e9:.1f} GB', f'{line["events"]:,}',
            number(line["events"] / line["events_per_second"]), *rate_cells(line)]
           for line in results.find(bench="reconcile-copies")]
  return table(["against", "events on each side", "seconds", *RATE_HEAD], rows)


def disk_table(results):
  lines = results.find(bench="disk")
  inputs = list(dict.fromkeys(line["input"] for line in lines))
  subjects = list(dict.fromkeys(line["subject"] for line in lines))
  heads = [f'{name}, {results.value("events", bench="disk", input=name):,}' for name in inputs]
  return table(["bytes an event", *heads],
               [[subject, *(number(results.value("bytes_an_event", bench="disk", input=name, subject=subject))
                            for name in inputs)] for subject in subjects])


def opening_table(results):
  return table(["", "median", "p90", ""],
               [[line["subject"], number(line["p50"]), number(line["p90"]), line["unit"]]
                for line in results.find(bench="opening")])


def follow_table(results):
  return table(["", "wake-ups a second", "% of a core"],
               [[line["subject"], f'{line["wakeups"]:.2f}', f'{line["percent"]:.3f}']
                for line in results.find(bench="follow-idle")])


def request_table(results):
  return table(["", "ns"], [[line["subject"], number(line["p50"])] for line in results.find(bench="request")])


def service_table(results):
  return table(["", "requests a second", "of those without Weir", "µs of processor time a request", "p50, p99 in µs"],
               [[line["subject"], f'{line["requests_per_second"]:,.0f}',
                 f'{line["ratio"]:.3f} ({line["least_ratio"]:.3f} to {line["most_ratio"]:.3f})',
                 number(line["cpu_ns"] / 1000), f'{line["p50_us"]:,.0f}, {line["p99_us"]:,.0f}']
                for line in results.find(bench="service")])


def parts_table(results):
  def limit(line):
    rate = line["limit_mb_per_second"]
    return f'{line["limit"]}: {number(rate)} MB/s' if rate else ""

  return table(["", "events a delivery", "events a second", "MB/s", "for comparison"],
               [[line["subject"], f'{line["batch"]:,}' if line["batch"] else "–",
                 f'{line["events_per_second"]:,.0f}', number(line["mb_per_second"]), limit(line)]
                for line in results.find(bench="delivery")])


TABLES = {
  "draining": lambda results: pictured(
    "benchmark-draining", "Events a second and processor time of an event, by threads and by events.",
    draining_table(results)),
  "delivery": lambda results: pictured(
    "benchmark-delivery", "Processor time of an event and memory, by the size of the log and by destinations.",
    delivery_table(results)),
  "reconcile": lambda results: pictured(
    "benchmark-reconcile", "Processor time of an event and memory, by the number of events.",
    reconcile_table(results)),
  "peers": peers_table, "batches": batches_table, "disk": disk_table, "opening": opening_table,
  "follow-idle": follow_table, "request": request_table, "service": service_table, "parts": parts_table}


# ---- The README ------------------------------------------------------------------------------------------------------

def readme(results, source):
  """The README's table of costs, or nothing if a part was not measured."""
  def capture(subject, key="p50", bench="capture"):
    return results.value(key, bench=bench, subject=subject, threads=1, event_bytes=48)

  def opening(subject): return results.value(bench="opening", subject=subject)

  drained = results.find(bench="draining", subject="weir-c", threads=2)
  behind = results.find(bench="draining", subject="weir-c", threads=1)
  delivered = {line["subject"]: line for line in results.find(bench="delivery-events", events=1_000_000)}
  needed = [capture("weir-swift"), capture("floor"), capture("weir-swift-codable"), drained, behind, delivered,
            opening("first event in a new log")]
  if not all(needed): return None
  files, http = delivered["files"], delivered["http json"]
  rows = [
    ["`track`, encoded by hand or by `@Event`",
     f'{number(capture("weir-swift"))} ns (p99 {number(capture("weir-swift", "p99"))}); a bare copy into a mapped file'
     f' takes {number(capture("floor"))}'],
    ["`track` of a `Codable` event", f'{number(capture("weir-swift-codable"))} ns'],
    ["two threads at full speed, which wait where a lane is full",
     f'{drained[0]["events_per_second"]:,.0f} events a second'],
    ["processor time behind a capture, for 72 bytes",
     f'{number(behind[0]["cpu_ns"])} ns, {behind[0]["of_write"]:.1f} times that of `write`'],
    ["first event after opening a log",
     f'{number(opening("first event in a new log"))} ms; after a kill at full speed'
     f' {number(opening("first event after a kill"))} ms'],
    ["delivery to JSON Lines; over HTTP",
     f'{files["events_per_second"]:,.0f} and {http["events_per_second"]:,.0f} events a second,'
     f' {files["cpu_ns"]:,.0f} and {http["cpu_ns"]:,.0f} ns of processor time an event']]
  return table(["", ""], rows) + f"\n\n{source}"
