#!/bin/sh
# try.sh BUILD CC: builds the library once with each of the faults in this folder, and sweeps it. A sweep that does not
# find the fault is worth nothing, so this fails unless each of them does. From the top of the source tree.
set -u
build=$1/twins
cc=$2
here=$(dirname "$0")
root=$(pwd)
flags='-std=gnu11 -O1 -g -pthread -DCHECKS_ARE_SHARED -DWEIR_FAULT_INJECTION'
harness='report victim judge replay snapshot stepper sweeps step_replay'
missed=0
for twin in "$here"/*.sed; do
  name=$(basename "$twin" .sed)
  file=$(sed -n 's/^# file: //p' "$twin")
  sweep=$(sed -n 's/^# sweep: //p' "$twin")
  copy=$build/$name
  rm -rf "$copy"
  mkdir -p "$copy/Sources" || exit 1
  cp -r "$root/Sources/CWeir" "$copy/Sources/" && cp -r "$root/include" "$copy/" || exit 1
  sed -i -f "$twin" "$copy/$file" || exit 1
  if cmp -s "$root/$file" "$copy/$file"; then
    echo "twin $name: it changes nothing in $file" >&2
    exit 1
  fi
  sources=
  for part in $harness; do sources="$sources $here/../$part.c"; done
  # shellcheck disable=SC2086 # lists of flags and files
  $cc $flags -I"$copy/include" -I"$root/Tests/C" -I"$here/.." -I"$copy/Sources/CWeir" "$copy"/Sources/CWeir/*.c \
    $sources -o "$copy/step_replay" || exit 1
  timeout -s KILL 300 "$copy/step_replay" --only "$sweep" --seed 1 --keep "$copy/kept" >"$copy/output" 2>&1
  if [ $? = 1 ] && grep '^round [0-9]* failed' "$copy/output" | grep -qv implausibly; then
    echo "ok: $name: $(grep '^round [0-9]* failed' "$copy/output" | grep -v implausibly | head -1 | cut -c 1-150)"
  else
    echo "twin $name: the sweep '$sweep' did not find it:" >&2
    cat "$copy/output" >&2
    missed=1
  fi
  rm -rf "$copy"
done
exit $missed
