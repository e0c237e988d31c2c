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
root=$(pwd)
missed=0

renew() {
  for part in Package.swift Package.resolved Plugins Sources Tests include; do
    [ -e "$root/$part" ] || continue
    rm -rf "${copy:?}/$part"
    cp -a "$root/$part" "$copy/$part" || exit 1
  done
}

build() {
  (cd "$copy" && $swift build -j "$jobs" --traits Tool,NATS --product weir >output 2>&1) && return 0
  echo "twins: the tool can't be built:" >&2
  tail -30 "$copy/output" >&2
  exit 1
}

# run OPTIONS: what the fleet does is in the file output, and its status is that of this.
run() {
  # shellcheck disable=SC2086 # the options are words
  python3 -B "$root/Tests/Fleet/fleet_crash.py" "$copy/.build/debug/weir" --no-small-disk $1 >"$copy/output" 2>&1
}

mkdir -p "$copy" || exit 1
renew
for twin in "$here"/*.sed; do
  name=$(basename "$twin" .sed)
  [ -z "$only" ] || [ "$only" = "$name" ] || continue
  options=$(sed -n 's/^# run: //p' "$twin")
  finds=$(sed -n 's/^# finds: //p' "$twin")
  build
  run "$options" || { echo "twins: '$options' fails without a fault:" >&2; tail -40 "$copy/output" >&2; exit 1; }
  if grep -q '^SKIPPED: the fleet' "$copy/output"; then cat "$copy/output"; exit 0; fi
  for file in $(sed -n 's/^# file: //p' "$twin"); do
    mkdir -p "$copy/sound/$(dirname "$file")"
    cp "$copy/$file" "$copy/sound/$file" && sed -i -f "$twin" "$copy/$file" || exit 1
    if cmp -s "$copy/sound/$file" "$copy/$file"; then
      echo "twin $name: it changes nothing in $file" >&2
      exit 1
    fi
  done
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
  for file in $(sed -n 's/^# file: //p' "$twin"); do cp "$copy/sound/$file" "$copy/$file" || exit 1; done
done
exit $missed
