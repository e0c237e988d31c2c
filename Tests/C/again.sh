#!/bin/sh
# again.sh: runs C checks again and again beside two endless loops at normal priority, to see that none of them fails by
# chance. Prints how often each ran and failed; what a failing run said is kept. The loops end with this script.
#
#     again.sh MAKE TIMES FOLDER TARGET...
set -u
make=$1 times=$2 folder=$3
shift 3
mkdir -p "$folder"
spin() { while :; do :; done; }
spin & first=$!
spin & second=$!
trap 'kill $first $second 2>/dev/null' EXIT
trap 'exit 1' HUP INT TERM

failed=0
printf '%-36s %5s %8s %9s\n' check runs failures seconds
for target; do
  name=$(basename "$target" .run)
  began=$(date +%s) run=0 failures=0
  while [ "$run" -lt "$times" ]; do
    run=$((run + 1))
    "$make" --no-print-directory "$target" >"$folder/$name.log" 2>&1 && continue
    failures=$((failures + 1))
    mv "$folder/$name.log" "$folder/$name.failed-$run.log"
  done
  printf '%-36s %5d %8d %9d\n' "$name" "$run" "$failures" $(($(date +%s) - began))
  failed=$((failed + failures))
done
[ "$failed" -eq 0 ] || echo "what the failing runs said: $folder" >&2
[ "$failed" -eq 0 ]
