#!/bin/sh
# try.sh BUILD CC [NAME]: builds the library once with each of the faults in this folder (or that of this name), and
# sweeps it, cuts its power so often, or runs its cases. A harness that does not find the fault is worth nothing, so
# this fails unless it does. From the top of the source tree.
set -u
build=$1/twins
cc=$2
only=${3:-}
here=$(dirname "$0")
flags='-std=gnu11 -O1 -g -pthread -DCHECKS_ARE_SHARED -DWEIR_FAULT_INJECTION'
shared='report victim judge replay'
missed=0
. Tests/twins.sh
for twin in "$here"/*.sed; do
  name=$(basename "$twin" .sed)
  [ -z "$only" ] || [ "$only" = "$name" ] || continue
  sweep=$(field "$twin" sweep)
  images=$(field "$twin" power)
  cases=$(field "$twin" cases)
  options=
  said='^round [0-9]* failed'
  if [ -n "$cases" ]; then
    program=$cases harness="$shared recording images power_run power_again" said=': failed: '
    set --
  elif [ -n "$images" ]; then
    program=power_replay harness="$shared recording images power_run power_again"
    set -- --rounds "$images"
  else
    program=step_replay harness="$shared snapshot stepper swept context_sweeps batch_sweeps sweeps"
    set -- --only "$sweep"
  fi
  copy=$build/$name
  rm -rf "$copy"
  renew Sources/CWeir include
  put_in "$twin"
  sources=
  for part in $harness $program; do sources="$sources $here/../$part.c"; done
  # shellcheck disable=SC2086 # lists of flags and files
  $cc $flags -I"$copy/include" -ITests/C -I"$here/.." -I"$copy/Sources/CWeir" "$copy"/Sources/CWeir/*/*.c \
    $sources -llz4 -o "$copy/$program" || exit 1
  # How threads interleave is chance: where a sweep does not come by the fault, the next ones have two more tries.
  for seed in 1 2 3; do
    [ -n "$cases" ] || options="--seed $seed --keep $copy/kept"
    # shellcheck disable=SC2086 # a list of options
    timeout -s KILL 900 "$copy/$program" "$@" ${options:-} >"$copy/output" 2>&1
    status=$?
    [ $status = 0 ] || break
  done
  if [ $status = 1 ] && grep "$said" "$copy/output" | grep -qv implausibly; then
    echo "ok: $name: $(grep "$said" "$copy/output" | grep -v implausibly | head -1 | cut -c 1-150)"
  else
    echo "twin $name: '$program $*' did not find it:" >&2
    cat "$copy/output" >&2
    missed=1
  fi
  rm -rf "$copy"
done
exit $missed
