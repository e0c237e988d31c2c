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
root=$(pwd)
missed=0
export SWIFT_BACKTRACE=enable=no

renew() {
  for part in Package.swift Package.resolved Plugins Sources Tests include; do
    [ -e "$root/$part" ] || continue
    rm -rf "${copy:?}/$part"
    cp -a "$root/$part" "$copy/$part" || exit 1
  done
  # The other tests would be built with each fault, and not run.
  for tests in "$copy"/Tests/*Tests; do
    [ "$(basename "$tests")" != "$target" ] || continue
    rm -rf "$tests"
    mkdir -p "$tests"
    echo '// Nothing.' >"$tests/Nothing.swift"
  done
}

# run TESTS: 0 if they pass, 1 if they fail, 2 if they could not be built or run.
run() {
  (cd "$copy" && $swift build -j "$jobs" --build-tests >output 2>&1) || return 2
  (cd "$copy" && timeout -s KILL 900 $swift test -j "$jobs" --skip-build --disable-xctest --filter "$1" >output 2>&1)
  status=$?
  grep -q 'Test run with [1-9][0-9]* test' "$copy/output" || return 2
  [ $status = 0 ] && return 0
  return 1
}

mkdir -p "$copy" || exit 1
renew
for twin in "$here/$folder"/*.sed; do
  name=$(basename "$twin" .sed)
  [ -z "$only" ] || [ "$only" = "$name" ] || continue
  tests=$(sed -n 's/^# tests: //p' "$twin")
  if [ "${passed:-}" != "$tests" ]; then
    run "$tests" || { echo "twins: '$tests' fails without a fault:" >&2; tail -40 "$copy/output" >&2; exit 1; }
    passed=$tests
  fi
  for file in $(sed -n 's/^# file: //p' "$twin"); do
    mkdir -p "$copy/sound/$(dirname "$file")"
    cp "$copy/$file" "$copy/sound/$file" && sed -i -f "$twin" "$copy/$file" || exit 1
    if cmp -s "$copy/sound/$file" "$copy/$file"; then
      echo "twin $name: it changes nothing in $file" >&2
      exit 1
    fi
  done
  run "$tests"
  if [ $? = 1 ]; then
    echo "ok: $name: $(grep -a 'recorded an issue' "$copy/output" | head -1 | cut -c 1-160)"
  else
    echo "twin $name: '$tests' did not find it:" >&2
    tail -20 "$copy/output" >&2
    missed=1
  fi
  for file in $(sed -n 's/^# file: //p' "$twin"); do cp "$copy/sound/$file" "$copy/$file" || exit 1; done
done
exit $missed
