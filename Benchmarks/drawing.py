"""drawing.py: what charts and tables of the documentation are made with: results, numbers, SVG files, markers."""
import json
import pathlib
import re

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCC = ROOT / "Sources" / "Weir" / "Weir.docc"
COLOURS = {"floor": "#8a8f98", "floor-drained": "#b4b8bf", "weir": "#0b6bcb", "peer": "#c98a2b"}
# Of several lines in one chart, one each.
LINES = {"floor": "#8a8f98", "floor-drained": "#3d4450", "weir-c": "#0b6bcb", "weir-swift": "#e0533d",
         "moodycamel": "#c98a2b", "lttng-ust": "#7a4fbf", "spdlog": "#2f9e6e"}

plt.rcParams.update({
  "svg.fonttype": "none", "svg.hashsalt": "weir", "font.family": "sans-serif", "font.size": 10,
  "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#8a8f98", "figure.facecolor": "white"})


class Results:
  """The lines of result files. Of rows that were measured again, the last ones."""

  KEYS = ("bench", "subject", "threads", "event_bytes", "ring", "unit", "route", "events", "destinations", "input",
          "batch")

  def __init__(self, *paths):
    lines = [json.loads(line) for path in paths if pathlib.Path(path).exists() for line in open(path)]
    # The number of events is what is measured, or varied, or the size of a sample.
    keys = [tuple(line.get(key) for key in self.KEYS if key != "events" or line["bench"].endswith("-events"))
            for line in lines]
    self.lines = list(dict(zip(keys, lines)).values())

  def find(self, **wanted):
    return [line for line in self.lines if all(line.get(key) == value for key, value in wanted.items())]

  def value(self, key="p50", **wanted):
    found = self.find(**wanted)
    return found[0][key] if found else None


def number(value):
  if value is None: return "–"
  if value >= 1000: return f"{value:,.0f}"
  return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def colour(subject):
  return COLOURS.get(subject) or COLOURS["weir" if subject.startswith("weir") else "peer"]


def save(figure, name):
  (DOCC / "Resources").mkdir(exist_ok=True)
  figure.savefig(DOCC / "Resources" / f"{name}.svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
  plt.close(figure)
  print(f"drew {name}.svg")


def plain_log(axis, ticks):
  axis.set_major_locator(FixedLocator(ticks))
  axis.set_minor_locator(NullLocator())
  axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def table(head, rows):
  if not rows: return None
  return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] +
                   ["| " + " | ".join(row) + " |" for row in rows])


def rewrite(path, name, text):
  """Puts the text between the markers of that name, if the page has them."""
  page = path.read_text()
  pattern = re.compile(rf"(<!-- benchmarks:{name} -->\n).*?(<!-- end -->)", re.S)
  if text is None or not pattern.search(page): return
  path.write_text(pattern.sub(lambda found: f"{found[1]}{text}\n{found[2]}", page))
  print(f"wrote {name} in {path.name}")
