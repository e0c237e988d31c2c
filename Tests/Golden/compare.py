#!/usr/bin/env python3
"""compare.py: real requests in batch segments, read by two readers that share no code.

    compare.py WEIR SAMPLE FOLDER

Has the tool WEIR record the access log SAMPLE into FOLDER/log, with threads that make batch segments of it; has the lz4
tool test each of them; and holds what read_log.py, which knows FileFormat.md alone, finds in them against `weir cat`,
line by line. FOLDER is made, and must not be there.
"""
import datetime, itertools, os, re, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
# Segments of more than two LZ4 blocks, and more than one of them.
RECORD = ['--format', 'clf', '--threads', '2', '--segment-bytes', '2200K', '--batch-threads', '2']


def run(*command):
  done = subprocess.run(command, capture_output=True, text=True)
  if done.returncode: sys.exit(f'compare.py: {" ".join(command)}: {done.returncode}\n{done.stderr}')
  return done.stdout


def rfc3339(nanoseconds):
  seconds, rest = divmod(nanoseconds, 10**9)
  return f'{datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc):%Y-%m-%dT%H:%M:%S}.{rest:09}Z'


def as_cat_prints(line):
  """A line of read_log.py, its time as the tool writes it."""
  return re.sub(r'"time_ns":(-?\d+),', lambda found: f'"time":"{rfc3339(int(found[1]))}",', line, count=1)


def main(weir, sample, folder):
  log = os.path.join(folder, 'log')
  os.makedirs(folder)
  run(weir, 'record', log, sample, *RECORD)
  run(weir, 'batch', log)  # what the threads left when the log was closed
  names = sorted(name for name in os.listdir(log) if name[0].isdigit())
  batches = [name for name in names if name.endswith('.weir.lz4')]
  if batches != names or len(batches) < 2: sys.exit(f'compare.py: not all segments became batches: {names}')
  for name in batches: run('lz4', '-t', os.path.join(log, name))
  ours = run(weir, 'cat', log).splitlines()
  theirs = run(sys.executable, '-B', os.path.join(HERE, 'read_log.py'), log).splitlines()
  requests = sum(1 for _ in open(sample, 'rb'))
  for number, (our, their) in enumerate(itertools.zip_longest(ours, theirs)):
    if their is None or our != as_cat_prints(their):
      sys.exit(f'compare.py: line {number} differs:\nweir cat:    {our}\nread_log.py: {their}')
  if len(ours) != requests: sys.exit(f'compare.py: {requests} requests, and {len(ours)} events')
  print(f'ok: {len(batches)} batch segments pass lz4 -t; {requests} events are the same to weir cat and to read_log.py')


if __name__ == '__main__':
  if len(sys.argv) != 4: sys.exit('usage: compare.py WEIR SAMPLE FOLDER')
  main(*sys.argv[1:])
