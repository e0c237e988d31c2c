#!/bin/sh
# again.sh TIMES COMMAND...: runs a command so many times beside two endless loops at normal priority, and says how often
# it failed. The loops end with this script, whatever ends it. LOOPS sets how many there are, LOG where the output of
# runs that failed goes.
set -u

times=$1
shift
log=${LOG:-/dev/stderr}
script=$$

# Asks from time to time whether the script is still there.
loop() {
  while kill -0 "$script" 2>/dev/null; do
    n=0
    while [ "$n" -lt 200000 ]; do n=$((n + 1)); done
  done
}

loops=
running=
trap 'kill $running $loops 2>/dev/null; rm -f "$output"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
output=$(mktemp) || exit 2
for _ in $(seq "${LOOPS:-2}"); do
  loop &
  loops="$loops $!"
done

failed=0
for number in $(seq "$times"); do
  begin=$(date +%s)
  # Beside the script, which could not end while it is waited for otherwise.
  "$@" >"$output" 2>&1 &
  running=$!
  if wait "$running"; then
    echo "ok: run $number of $times, $(($(date +%s) - begin)) s: $*"
  else
    echo "FAILED: run $number of $times, $(($(date +%s) - begin)) s: $*"
    failed=$((failed + 1))
    cat "$output" >>"$log"
  fi
done
echo "$failed of $times runs failed beside ${LOOPS:-2} endless loops: $*"
[ "$failed" = 0 ]
