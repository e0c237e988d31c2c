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
root=$(pwd)
missed=0
export SWIFT_BACKTRACE=enable=no

renew() {
  for part in Package.swift Package.resolved Plugins Sources include Tests/HookStress; do
    [ -e "$root/$part" ] || continue
    rm -rf "${copy:?}/$part"
    mkdir -p "$(dirname "$copy/$part")"
    cp -a "$root/$part" "$copy/$part" || exit 1
  done
  # The manifest names the folders of all tests: they have to be there.
  for tests in "$root"/Tests/*Tests; do
    mkdir -p "$copy/Tests/$(basename "$tests")"
    echo '// Nothing.' >"$copy/Tests/$(basename "$tests")/Nothing.swift"
  done
}

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

mkdir -p "$copy" || exit 1
renew
run || { echo 'hook twins: the stress fails without a fault:' >&2; tail -20 "$copy/output" >&2; exit 1; }
for twin in "$here"/*.sed; do
  name=$(basename "$twin" .sed)
  [ -z "$only" ] || [ "$only" = "$name" ] || continue
  for file in $(sed -n 's/^# file: //p' "$twin"); do
    mkdir -p "$copy/sound/$(dirname "$file")"
    cp "$copy/$file" "$copy/sound/$file" && sed -i -f "$twin" "$copy/$file" || exit 1
    if cmp -s "$copy/sound/$file" "$copy/$file"; then
      echo "twin $name: it changes nothing in $file" >&2
      exit 1
    fi
  done
  run
  case $? in
    1) echo "ok: $name: $(grep -a 'FAILED' "$copy/output" | head -1 | cut -c 1-140)" ;;
    0) echo "twin $name: the stress did not find it" >&2; missed=1 ;;
    *) echo "twin $name: it does not build:" >&2; tail -20 "$copy/output" >&2; missed=1 ;;
  esac
  for file in $(sed -n 's/^# file: //p' "$twin"); do cp "$copy/sound/$file" "$copy/$file" || exit 1; done
done
exit $missed
