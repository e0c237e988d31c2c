"""targets.py: what Weir wants to reach behind a capture, and what a run says about it. charts.py prints the list.

Each target is of ratios within the run, or of times that the run measured on its own machine. A row that was not
measured is left out. capture-bench prints further targets of its own, all of captures.
"""


class Judgement:
  def __init__(self, results, processors):
    self.results, self.processors, self.rows = results, processors, []

  def value(self, key, **wanted): return self.results.value(key, **wanted)

  def most(self, target, measured, limit, unit="", note=""):
    """A target that is met up to the limit."""
    if measured is None: return
    self._add(target, measured, unit, note, measured <= limit)

  def least(self, target, measured, limit, unit="", note=""):
    if measured is None: return
    self._add(target, measured, unit, note, measured >= limit)

  def _add(self, target, measured, unit, note, is_met):
    shown = f"{measured:,.0f}" if abs(measured) >= 100 else f"{measured:.3g}" if measured else "0"
    self.rows.append([target, " ".join(filter(None, [shown, unit, f"({note})" if note else ""])),
                      "met" if is_met else "MISSED"])


def of_threads(count): return "1 thread" if count == 1 else f"{count} threads"


def ratio(value, base):
  return None if value is None or not base else value / base


def captures(judgement):
  def nanoseconds(subject, threads=1, size=48, bench="capture"):
    return judgement.value("p50", bench=bench, subject=subject, threads=threads, event_bytes=size)

  counts = sorted({line["threads"] for line in judgement.results.find(bench="capture", event_bytes=48)})
  for threads in [count for count in counts if count <= judgement.processors]:
    for subject, limit in (("weir-c", 1.04), ("weir-swift", 1.06)):
      judgement.most(f"`{subject}`, {of_threads(threads)}: at most {limit} of `floor`",
                     ratio(nanoseconds(subject, threads), nanoseconds("floor", threads)), limit)
  judgement.most("`weir-swift`: below `moodycamel`", ratio(nanoseconds("weir-swift"), nanoseconds("moodycamel")), 1,
                 "of it")
  judgement.most("`weir-c` with the tick word: at most 4 ns", nanoseconds("weir-c-tick", bench="coarse"), 4, "ns")
  for size, limit in ((256, 1.4), (4096, 2)):
    judgement.most(f"`weir-c`, {size:,} bytes: at most {limit} of `floor`",
                   ratio(nanoseconds("weir-c", size=size), nanoseconds("floor", size=size)), limit)


def draining(judgement):
  judgement.most("processor time behind a capture: at most 2 of `write`",
                 judgement.value("of_write", bench="draining", subject="weir-c", threads=1), 2, "of it",
                 f'{judgement.value("cpu_ns", bench="draining", subject="weir-c", threads=1) or 0:.1f} ns')

  def rate(subject, threads): return judgement.value("p50", bench="saturation", subject=subject, threads=threads)

  counts = sorted({line["threads"] for line in judgement.results.find(bench="saturation")})
  for threads in counts:
    judgement.least(f"accepted a second, {of_threads(threads)}: not below LTTng-UST",
                    ratio(rate("weir-c", threads), rate("lttng-ust", threads)), 1, "of it")
  for before, after in zip(counts, counts[1:]):
    if after > judgement.processors: continue
    judgement.least(f"accepted a second, {after} threads: not below {of_threads(before)}",
                    ratio(rate("weir-c", after), rate("weir-c", before)), 1, "of it")


def opening(judgement):
  def value(subject): return judgement.value("p50", bench="opening", subject=subject)

  judgement.most("a new log: its first event at most 5 ms after the opening", value("first event in a new log"), 5,
                 "ms")
  judgement.most("a new log: at most 4 MiB on disk before its first event",
                 ratio(value("a new log before its first event"), 1024), 4, "MiB")
  judgement.most("after a kill: at most twice the time of reading what was not sealed",
                 ratio(value("first event after a kill"), value("reading what was not sealed")), 2, "times",
                 f'{value("first event after a kill") or 0:.1f} ms')


def requests(judgement):
  for subject, limit in (("binding user, fields and view", 500), ("inspector", 300),
                         ("inspector, events with bindings", 300)):
    judgement.most(f"{subject}: at most {limit} ns", judgement.value("p50", bench="request", subject=subject), limit,
                   "ns")
  judgement.least("the web service: at least 0.97 of the requests that it does without Weir",
                  judgement.value("ratio", bench="service", subject="with Weir"), 0.97, "of them")


def delivery(judgement):
  def value(key, subject, events=1_000_000):
    return judgement.value(key, bench="delivery-events", subject=subject, events=events)

  rows = judgement.results.find(bench="delivery-events")
  for subject, name, limit in (("files", "JSON Lines files", 1.5), ("http json", "HTTP", 1)):
    rate = value("events_per_core_second", subject)
    wall = value("events_per_second", subject)
    judgement.least(f"delivery into {name}: at least {limit} million events a second of a core",
                    ratio(rate, 1e6), limit, "million", f"{(wall or 0) / 1e6:.2f} million by the clock")
    costs = [line["cpu_ns"] for line in rows if line["subject"] == subject]
    if len(costs) > 2:
      judgement.most(f"delivery into {name}: the cost of an event at most 1.1 of the least, 10^5 to 10^8 events",
                     max(costs) / min(costs), 1.1, "of it", f"{min(costs):,.0f} to {max(costs):,.0f} ns")
    memory = [line["memory_mib"] for line in rows if line["subject"] == subject]
    if memory: judgement.most(f"delivery into {name}: at most 64 MiB of memory at any backlog", max(memory), 64, "MiB")
  counts = {line["destinations"]: line for line in judgement.results.find(bench="delivery-destinations")}
  if 1 in counts and 2 in counts:
    judgement.most("two destinations: at most twice one",
                   2 * counts[2]["cpu_ns"] / counts[1]["cpu_ns"], 2, "times")
  if len(counts) > 2:
    last = max(counts)
    costs = [line["cpu_ns"] for line in counts.values()]
    judgement.most(f"1 to {last} destinations: the cost of an event and destination at most 1.1 of the least",
                   max(costs) / min(costs), 1.1, "of it", f"{min(costs):,.0f} to {max(costs):,.0f} ns")
    judgement.most(f"{last} destinations: at most 8 MiB of memory for each",
                   (counts[last]["memory_mib"] - counts[1]["memory_mib"]) / (last - 1), 8, "MiB")


def batches(judgement):
  for source in ("raw", "batched"):
    wanted = {"bench": "delivery-batches", "subject": "http", "source": source}
    judgement.least(f"batch segments over HTTP from a {source} log: at least 5 million events a second of a core",
                    ratio(judgement.value("events_per_core_second", **wanted), 1e6), 5, "million",
                    f'{(judgement.value("events_per_second", **wanted) or 0) / 1e6:.2f} million by the clock')


def idle(judgement):
  for line in judgement.results.find(bench="follow-idle"):
    judgement.most(f'idle, {line["subject"]}: at most 2 wake-ups a second', line["wakeups"], 2)
    judgement.most(f'idle, {line["subject"]}: at most 0.05 % of a core', line["percent"], 0.05, "%")


def monitor(judgement):
  for rate, limit in ((1_000, 150), (1_000_000, 250)):
    wanted = {"bench": "monitor-latency", "rate": rate}
    judgement.most(f"the monitor, {rate:,} events a second: from capture to pixel at most {limit} ms, p99",
                   judgement.value("p99_ms", **wanted), limit, "ms",
                   f'p50 {judgement.value("p50_ms", **wanted) or 0:.0f} ms')
  for key, name in (("capture_ns", "a capture"), ("p999_ns", "p99.9 of a capture")):
    wanted = {"bench": "monitor-captures", "pinned": 1}
    again = judgement.value(f"{key}_ratio", **wanted, subject="nothing, again") or 0
    judgement.most(f"{name} beside a monitor and its page: at most 1.02 of that without",
                   judgement.value(f"{key}_ratio", **wanted, subject="monitor and page"), 1.02, "of it",
                   f"without, again: {again:.3g}")
  for line in judgement.results.find(bench="monitor-page"):
    judgement.most("the monitor's page: at most 100 MB of private memory", line["private_mb_most"], 100, "MB",
                   f'heap {line["heap_mb_last"]:.0f} MB')
  memory = [line["memory_mib"] for line in judgement.results.find(bench="monitor-load")]
  if memory: judgement.most("the monitor: at most 64 MiB of memory", max(memory), 64, "MiB")


def judge(results, processors):
  """Rows of target, measured, met or missed."""
  judgement = Judgement(results, processors)
  for part in (captures, draining, opening, requests, delivery, batches, idle, monitor): part(judgement)
  return judgement.rows
