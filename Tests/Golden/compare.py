#!/usr/bin/env python3
"""compare.py: real requests in batch segments, read by two readers that share no code.

    compare.py WEIR SAMPLE FOLDER

Has the tool WEIR record the access log SAMPLE into FOLDER/log, with threads that make batch segments of it; has the lz4
tool test each of them; and holds what the reader in Python, which shares no code with the tool, finds in them against
`weir cat`, line by line. FOLDER is made, and must not be there. Before that, holds what `weir cat` prints of
v1-sensitive against what the readers in Python and Go print of it.
"""
import itertools, os, subprocess, sys

PYTHON = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../Languages/Python')
# Segments of more than two LZ4 blocks, and more than one of them.
RECORD = ['--format', 'clf', '--threads', '2', '--segment-bytes', '2200K', '--batch-threads', '2']


def run(*command):
  done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, 'PYTHONPATH': PYTHON})
  if done.returncode: sys.exit(f'compare.py: {" ".join(command)}: {done.returncode}\n{done.stderr}')
  return done.stdout


def check_sensitive(weir):
  golden = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'v1-sensitive')
  for options, name in (([], 'cat.jsonl'), (['--show-sensitive'], 'shown.jsonl')):
    with open(os.path.join(golden, name), encoding='utf-8') as file: expected = file.read()
    if run(weir, 'cat', *options, os.path.join(golden, 'log')) != expected:
      sys.exit(f'compare.py: weir cat does not print {name} of v1-sensitive')


def main(weir, sample, folder):
  check_sensitive(weir)
  log = os.path.join(folder, 'log')
  os.makedirs(folder)
  run(weir, 'record', log, sample, *RECORD)
  run(weir, 'batch', log)  # what the threads left when the log was closed
  names = sorted(name for name in os.listdir(log) if name[0].isdigit())
  batches = [name for name in names if name.endswith('.weir.lz4')]
  if batches != names or len(batches) < 2: sys.exit(f'compare.py: not all segments became batches: {names}')
  for name in batches: run('lz4', '-t', os.path.join(log, name))
  ours = run(weir, 'cat', log).splitlines()
  theirs = run(sys.executable, '-B', '-m', 'weir', log).splitlines()
  requests = sum(1 for _ in open(sample, 'rb'))
  for number, (our, their) in enumerate(itertools.zip_longest(ours, theirs)):
    if our != their: sys.exit(f'compare.py: line {number} differs:\nweir cat: {our}\nPython:   {their}')
  if len(ours) != requests: sys.exit(f'compare.py: {requests} requests, and {len(ours)} events')
  print(f'ok: {len(batches)} batch segments pass lz4 -t; {requests} events are the same to weir cat and in Python')


if __name__ == '__main__':
  if len(sys.argv) != 4: sys.exit('usage: compare.py WEIR SAMPLE FOLDER')
  main(*sys.argv[1:])
