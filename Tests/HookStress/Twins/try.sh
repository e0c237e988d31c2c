#!/bin/sh
# try.sh BUILD SWIFT JOBS FIRINGS [NAME]: builds a copy of the package with each of the faults beside this (or that of
# this name) in turn, and runs the stress, which passes without it and has to fail with it: by what it says, by dying,
# or by standing still. From the top of the source tree. The copy is kept in BUILD for the next time.
set -u
copy=$1/hook-twins
swift=$2
jobs=$3
firings=$4
only=${5:-}
here=$(dirname "$0")
missed=0
export SWIFT_BACKTRACE=enable=no
. Tests/twins.sh

# 0 if it passes, 1 if it fails, 2 if it could not be built.
run() {
  # A change of a header alone builds no Swift anew.
  touch "$copy/Tests/HookStress/Package.swift"
  find "$copy/Sources/WeirAspects" "$copy/Tests/HookStress/Sources" -name '*.swift' -exec touch {} +
  (cd "$copy" && $swift build -c release -j "$jobs" --package-path Tests/HookStress --scratch-path .build) \
    >"$copy/output" 2>&1 || return 2
  timeout -s KILL 120 "$copy/.build/release/HookStress" --firings "$firings" >"$copy/output" 2>&1 && return 0
  return 1
}

renew Package.swift Package.resolved Plugins Sources include Tests/HookStress
empty_tests
run || { echo 'hook twins: the stress fails without a fault:' >&2; tail -20 "$copy/output" >&2; exit 1; }
for twin in "$here"/*.sed; do
  name=$(basename "$twin" .sed)
  [ -z "$only" ] || [ "$only" = "$name" ] || continue
  put_in "$twin"
  run
  case $? in
    1) echo "ok: $name: $(grep -a 'FAILED' "$copy/output" | head -1 | cut -c 1-140)" ;;
    0) echo "twin $name: the stress did not find it" >&2; missed=1 ;;
    *) echo "twin $name: it does not build:" >&2; tail -20 "$copy/output" >&2; missed=1 ;;
  esac
  take_out "$twin"
done
exit $missed
