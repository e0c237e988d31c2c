#!/bin/sh
# try.sh BUILD SWIFT JOBS [NAME]: builds the tool of a copy of the package with each of the faults here (or that of this
# name) in turn, and runs the fleet that the fault names. It comes to its end without a problem without the fault, and
# has to find what the fault names with it. From the top of the source tree. The first build takes minutes; the copy is
# kept in BUILD for the next time.
set -u
copy=$1/fleet-twins
swift=$2
jobs=$3
only=${4:-}
here=$(dirname "$0")
missed=0
. Tests/twins.sh

build() {
  (cd "$copy" && $swift build -j "$jobs" --traits Tool,NATS --product weir >output 2>&1) && return 0
  echo "twins: the tool can't be built:" >&2
  tail -30 "$copy/output" >&2
  exit 1
}

# run OPTIONS: what the fleet does is in the file output, and its status is that of this.
run() {
  # shellcheck disable=SC2086 # the options are words
  python3 -B Tests/Fleet/fleet_crash.py "$copy/.build/debug/weir" --no-small-disk $1 >"$copy/output" 2>&1
}

renew Package.swift Package.resolved Plugins Sources Tests include
for twin in "$here"/*.sed; do
  name=$(basename "$twin" .sed)
  [ -z "$only" ] || [ "$only" = "$name" ] || continue
  options=$(field "$twin" run)
  finds=$(field "$twin" finds)
  build
  run "$options" || { echo "twins: '$options' fails without a fault:" >&2; tail -40 "$copy/output" >&2; exit 1; }
  if grep -q '^SKIPPED: the fleet' "$copy/output"; then cat "$copy/output"; exit 0; fi
  put_in "$twin"
  build
  run "$options"
  found=$(grep -o "[0-9][0-9]* $finds, such as" "$copy/output" | head -1)
  if [ -n "$found" ]; then
    echo "ok: $name: ${found%, such as}"
  else
    echo "twin $name: '$options' did not find it:" >&2
    tail -20 "$copy/output" >&2
    missed=1
  fi
  take_out "$twin"
done
exit $missed
