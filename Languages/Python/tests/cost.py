#!/usr/bin/env python3
"""cost.py: what a capture from Python and the reading of an event cost, in nanoseconds. `make bench-python`.

Of each of ROUNDS rounds the median over batches of captures, and of these the least: what the machine does beside it
adds to both. The log is drained between batches, so that none waits for room.
"""
import os
import platform
import shutil
import statistics
import tempfile
import time

import weir

ROUNDS, BATCHES, EVENTS = 5, 100, 500


def least_median(capture, drain):
  medians = []
  for _ in range(ROUNDS):
    batches = []
    for _ in range(BATCHES):
      began = time.perf_counter_ns()
      for _ in range(EVENTS): capture()
      batches.append((time.perf_counter_ns() - began) / EVENTS)
      drain()
    medians.append(statistics.median(batches))
  return min(medians)


def main():
  load, folder = os.getloadavg(), tempfile.mkdtemp(prefix='weir-cost-')
  log, text = os.path.join(folder, 'log'), 'a coupon of 20 bytes'
  try:
    with weir.Writer(log) as writer:
      typed = writer.define('typed', {'order': 'u64', 'total': 'f64', 'items': 'i32', 'coupon': 'string'})
      numbers = writer.define('numbers', {'order': 'u64', 'total': 'f64', 'items': 'i32'})
      fields = {'order': 41, 'total': 19.90, 'items': 3, 'coupon': text}
      for what, capture in (('numbers', lambda: numbers.capture(41, 19.90, 3)),
                            ('the same and a string', lambda: typed.capture(41, 19.90, 3, text)),
                            ('without a definition', lambda: writer.capture('typed', fields))):
        print(f'capture: {what:22} {least_median(capture, writer.drain):6.0f} ns')
    for what, take in (('read', lambda event: None), ('read, fields decoded', lambda event: event.fields)):
      costs = []
      for _ in range(ROUNDS):
        began, count = time.process_time_ns(), 0
        for event in weir.open(log):
          take(event)
          count += 1
        costs.append((time.process_time_ns() - began) / count)
      print(f'{what:31} {min(costs):6.0f} ns')
  finally: shutil.rmtree(folder)
  with open('/proc/cpuinfo') as file:
    model = next((line.split(':')[1].strip() for line in file if 'model name' in line), '')
  print(f'Python {platform.python_version()}, {model}, {os.cpu_count()} processors, Linux {platform.release()}; '
        f'load average at the start {load[0]:.2f} {load[1]:.2f} {load[2]:.2f}')


if __name__ == '__main__': main()
