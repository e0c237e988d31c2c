"""charts.py: the charts and tables of the documentation, from the results of one run. `make bench` calls it.

    charts.py results.jsonl behind.jsonl delivery.jsonl machine.json

Draws SVG files into Sources/Weir/Weir.docc/Resources and rewrites what stands between the markers
`<!-- benchmarks:NAME -->` and `<!-- end -->` in Guides/Benchmarks.md and README.md. A regime that was not measured
leaves its chart and table as they were. Prints the targets, met or missed.
"""
import json
import pathlib
import sys
import textwrap

sys.dont_write_bytecode = True

import behind_page
import matplotlib.pyplot as plt
import targets
from drawing import DOCC, LINES, ROOT, Results, colour, number, plain_log, rewrite, save, table
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator


# ---- Charts ----------------------------------------------------------------------------------------------------------

def draw_subjects(results):
  lines = results.find(bench="capture", threads=1, event_bytes=48)
  lines = [line for line in lines if line["subject"] != "codable-discard"]
  if not lines: return
  lines.sort(key=lambda line: -line["p50"])
  figure, axes = plt.subplots(figsize=(7.6, 0.33 * len(lines) + 1))
  names = [line["subject"] for line in lines]
  axes.barh(names, [line["p50"] for line in lines], color=[colour(name) for name in names], height=0.66)
  for row, line in enumerate(lines):
    axes.text(line["p50"] * 1.07, row, number(line["p50"]), va="center", fontsize=9)
  axes.set_xscale("log")
  axes.set_xlim(4, max(line["p50"] for line in lines) * 2.2)
  plain_log(axes.xaxis, [5, 10, 100, 1000, 10000])
  axes.set_xlabel("ns an event, median of bursts, 1 thread, 48-byte event (logarithmic)")
  axes.tick_params(axis="y", length=0)
  save(figure, "benchmark-capture")


def draw_threads(results):
  subjects = [name for name in LINES if results.find(bench="capture", subject=name, event_bytes=48, threads=2)]
  subjects = [name for name in subjects if name != "floor-drained"]
  if not subjects: return
  figure, axes = plt.subplots(figsize=(7.6, 3.8))
  counts = sorted({line["threads"] for line in results.find(bench="capture", event_bytes=48)})
  ends = []
  for name in subjects:
    points = [results.value(bench="capture", subject=name, event_bytes=48, threads=count) for count in counts]
    axes.plot(range(len(counts)), points, marker="o", markersize=4, color=LINES[name])
    ends.append((points[-1], name))
  axes.set_yscale("log")
  low, high = axes.get_ylim()
  at = low
  for end, name in sorted(ends):
    at = max(end, at * (high / low) ** 0.045)  # names that would lie on one another go up a line
    axes.text(len(counts) - 0.94, at, name, va="center", fontsize=9, color=LINES[name])
  ticks = [digit * 10 ** power for power in range(5) for digit in (1, 2, 5)]
  plain_log(axes.yaxis, [tick for tick in ticks if low <= tick <= high])
  axes.set_xticks(range(len(counts)), counts)
  axes.set_xlim(-0.15, len(counts) - 0.4)
  axes.set_xlabel("threads that capture at once")
  axes.set_ylabel("ns an event, median (logarithmic)")
  save(figure, "benchmark-threads")


def draw_tail(results):
  places = [("tmpfs", "ring on tmpfs"), ("disk-writeback", "ring on disk, its pages written back every 50 ms")]
  if not results.find(bench="tail", ring="tmpfs"): return
  figure, panels = plt.subplots(1, 2, figsize=(9.6, 3.9), sharey=True)
  for panel, (ring, title) in zip(panels, places):
    for line in results.find(bench="tail", ring=ring):
      tails = [100 / (100 - percentile) for percentile, _ in line["curve"]]
      name = line["subject"]
      panel.plot(tails, [max(value, 1) for _, value in line["curve"]], color=LINES[name], label=name)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_title(title, fontsize=10, loc="left")
    panel.xaxis.set_major_locator(FixedLocator([2, 10, 100, 1000, 10000, 100000]))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(FuncFormatter(lambda tail, _: f"{100 - 100 / tail:.6g}"))
    panel.grid(axis="y", color="#e3e5e8", linewidth=0.8)
    panel.set_xlabel("percentile of single captures")
  plain_log(panels[0].yaxis, [10, 30, 100, 300, 1000, 3000, 10000, 30000, 100000])
  panels[0].set_ylabel("ns (logarithmic)")
  panels[0].legend(frameon=False, loc="upper left", fontsize=9)
  save(figure, "benchmark-tail")


def draw_sizes(results):
  sizes = sorted({line["event_bytes"] for line in results.find(bench="capture", threads=1)})
  subjects = [name for name in LINES if results.find(bench="capture", subject=name, event_bytes=4096)]
  if len(sizes) < 2 or not subjects: return
  figure, axes = plt.subplots(figsize=(7.6, 3.4))
  for name in subjects:
    points = [results.value(bench="capture", subject=name, event_bytes=size, threads=1) for size in sizes]
    axes.plot(range(len(sizes)), points, marker="o", markersize=4, color=LINES[name], label=name)
  axes.set_yscale("log")
  axes.set_ylim(6, 700)
  plain_log(axes.yaxis, [10, 20, 50, 100, 200, 500])
  axes.set_xticks(range(len(sizes)), [f"{size} bytes" for size in sizes])
  axes.set_ylabel("ns an event, median (logarithmic)")
  axes.legend(frameon=False, fontsize=9)
  save(figure, "benchmark-sizes")


# ---- Tables ----------------------------------------------------------------------------------------------------------

def capture_table(results):
  counts = sorted({line["threads"] for line in results.find(bench="capture", event_bytes=48)})
  names = list(dict.fromkeys(line["subject"] for line in results.find(bench="capture", event_bytes=48)))
  floor = results.value(bench="capture", subject="floor", event_bytes=48, threads=1)
  rows = []
  for name in names:
    points = [results.value(bench="capture", subject=name, event_bytes=48, threads=count) for count in counts]
    tail = results.value("p99", bench="capture", subject=name, event_bytes=48, threads=1)
    rows.append([f"`{name}`"] + [number(point) for point in points] + [number(tail), f"{points[0] / floor:.2f}"])
  heads = [f"{count} thread{'s' if count > 1 else ''}" for count in counts]
  return table(["ns an event"] + heads + ["p99, 1 thread", "of `floor`"], rows)


def sizes_table(results):
  sizes = sorted({line["event_bytes"] for line in results.find(bench="capture", threads=1)})
  if len(sizes) < 2: return None
  names = [line["subject"] for line in results.find(bench="capture", event_bytes=4096)]
  rows = [[f"`{name}`"] + [number(results.value(bench="capture", subject=name, event_bytes=size, threads=1))
                           for size in sizes] for name in names]
  return table(["ns an event"] + [f"{size} bytes" for size in sizes], rows)


def ratio_table(results, bench):
  lines = results.find(bench=bench)
  return table(["ns an event", "p50", "p99", "of the first"],
               [[f"`{line['subject']}`", number(line["p50"]), number(line["p99"]),
                 f"{line['p50'] / lines[0]['p50']:.2f}"] for line in lines])


def tail_table(results):
  keys = ["p50", "p99", "p999", "p9999"]
  return table(["ring", "subject", "p50", "p99", "p99.9", "p99.99"],
               [[line["ring"], f"`{line['subject']}`"] + [number(line[key]) for key in keys]
                for line in results.find(bench="tail")])


def saturation_table(results):
  rows = []
  for line in results.find(bench="saturation"):
    tried = line["accepted"] + line["dropped"]
    spread = f"{line['thread_least']:,} – {line['thread_most']:,}" if "thread_least" in line else "–"
    rows.append([f"`{line['subject']}`", str(line["threads"]), f"{line['p50'] / 1e6:.1f}",
                 f"{100 * line['dropped'] / tried:.0f} %", spread])
  return table(["subject", "threads", "million accepted a second", "refused", "accepted by one thread in 0.3 s"], rows)


def sustained_table(results):
  base = results.value(bench="sustained", subject="memcpy-mapped")
  rows = [[f"`{line['subject']}`", str(line["threads"]), number(line["p50"]), f"{line['p50'] / base:.2f}",
           f"{line['accepted']:,}" if line["accepted"] else "–", str(line["dropped"])]
          for line in results.find(bench="sustained")]
  return table(["", "threads", "MB/s", "of memcpy", "events", "dropped"], rows)


def idle_table(results):
  return table(["", "unit", "p50", "p99"],
               [[f"`{line['subject']}`", line["unit"], f"{line['p50']:,.2f}", f"{line['p99']:,.2f}"]
                for line in results.find(bench="idle")])


def source(machine):
  text = (f"`{machine['command']}` at commit {machine['commit']} on {machine['date']}: {machine['processor']},"
          f" {machine['processors']} processors, {machine['memory']}, Linux {machine['kernel']}, clock source"
          f" {machine['clock']}; load average at the start {machine['load']}.")
  return textwrap.fill(text, 120)


def main():
  results, machine_file = Results(*sys.argv[1:-1]), pathlib.Path(sys.argv[-1])
  captures = json.loads(machine_file.read_text()) if machine_file.exists() else None
  behind = next(iter(results.find(bench="machine")), None)
  for draw in (draw_subjects, draw_threads, draw_tail, draw_sizes, *behind_page.CHARTS): draw(results)
  page = DOCC / "Guides" / "Benchmarks.md"
  if captures: rewrite(page, "source", source(captures))
  if behind: rewrite(page, "behind-source", source(behind))
  rewrite(page, "capture", capture_table(results))
  rewrite(page, "sizes", sizes_table(results))
  rewrite(page, "coarse", ratio_table(results, "coarse"))
  rewrite(page, "codable", ratio_table(results, "codable"))
  rewrite(page, "tail", tail_table(results))
  rewrite(page, "saturation", saturation_table(results))
  rewrite(page, "sustained", sustained_table(results))
  rewrite(page, "idle", idle_table(results))
  for name, make in behind_page.TABLES.items(): rewrite(page, name, make(results))
  judged = targets.judge(results, int((captures or behind)["processors"]))
  rewrite(page, "targets", table(["target", "measured", ""], judged))
  # The README's figures are of one run.
  if captures and behind and captures["commit"] == behind["commit"]:
    rewrite(ROOT / "README.md", "costs", behind_page.readme(results, source(captures)))
  for target, measured, verdict in judged: print(f"{target:<84} {measured:<44} {verdict}")


main()
