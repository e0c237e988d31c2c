#!/bin/sh
# try-swift.sh FOLDER TARGET BUILD SWIFT JOBS [NAME]: builds a copy of the package with each of the faults in FOLDER (or
# that of this name) in turn, and runs the tests of TARGET that the fault names. They pass without it and have to fail
# with it. From the top of the source tree. The first build takes minutes; the copy is kept in BUILD for the next time.
set -u
folder=$1
target=$2
copy=$3/swift-twins
swift=$4
jobs=$5
only=${6:-}
here=$(dirname "$0")
missed=0
export SWIFT_BACKTRACE=enable=no
. Tests/twins.sh

# run TESTS: 0 if they pass, 1 if they fail, 2 if they could not be built or run.
run() {
  (cd "$copy" && $swift build -j "$jobs" --build-tests >output 2>&1) || return 2
  (cd "$copy" && timeout -s KILL 900 $swift test -j "$jobs" --skip-build --disable-xctest --filter "$1" >output 2>&1)
  status=$?
  grep -q 'Test run with [1-9][0-9]* test' "$copy/output" || return 2
  [ $status = 0 ] && return 0
  return 1
}

renew Package.swift Package.resolved Plugins Sources Tests include
# The other tests would be built with each fault, and not run.
empty_tests "$target"
for twin in "$here/$folder"/*.sed; do
  name=$(basename "$twin" .sed)
  [ -z "$only" ] || [ "$only" = "$name" ] || continue
  tests=$(field "$twin" tests)
  if [ "${passed:-}" != "$tests" ]; then
    run "$tests" || { echo "twins: '$tests' fails without a fault:" >&2; tail -40 "$copy/output" >&2; exit 1; }
    passed=$tests
  fi
  put_in "$twin"
  run "$tests"
  if [ $? = 1 ]; then
    echo "ok: $name: $(grep -a 'recorded an issue' "$copy/output" | head -1 | cut -c 1-160)"
  else
    echo "twin $name: '$tests' did not find it:" >&2
    tail -20 "$copy/output" >&2
    missed=1
  fi
  take_out "$twin"
done
exit $missed
