#!/bin/sh
# What a package that depends on Weir fetches and builds: without traits neither swift-syntax nor Yams, with the trait
# Macros the first of them.
#
# Works on a copy of the tree, as somebody else would have it: without build folders and pins, under another folder
# name. The consumer without traits is built and run; that of the macro only fetches, for quickstart.py builds such a
# one. SWIFT and JOBS are as in the Makefile.
set -eu

SWIFT=${SWIFT:-swift}
JOBS=${JOBS:-2}
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# The packages that a consumer has fetched, in one line.
fetched() {
  ls "$1/.build/checkouts" | tr 'A-Z' 'a-z' | sort | tr '\n' ' '
}

# $1: the consumer, then the packages that it should have, sorted.
expect_fetched() {
  consumer=$scratch/$1
  shift
  [ "$(fetched "$consumer")" = "$* " ] || fail "fetched $(fetched "$consumer")instead of $*"
  # Fetched but unpacked nowhere, or pinned for later, would be as bad.
  for name in swift-syntax yams; do
    case " $* " in *" $name "*) continue ;; esac
    if grep -qi "/$name" "$consumer/Package.resolved"; then fail "Package.resolved has $name"; fi
    if ls "$consumer/.build/repositories" | grep -qi "^$name"; then fail "$name was fetched"; fi
  done
}

build_and_run() {
  $SWIFT build -j "$JOBS" --package-path "$scratch/$1" >"$scratch/log" 2>&1 ||
    { cat "$scratch/log"; fail "$1 does not build"; }
  printed=$("$scratch/$1/.build/debug/Consumer" "$scratch/$1/events" 2>"$scratch/log") || cat "$scratch/log"
  [ "$printed" = "completed(order: 7, total: 19.9)" ] || fail "$1 printed: $printed"
}

mkdir "$scratch/library"
tar -C "$root" -cf - --exclude='./.build*' --exclude=./.git --exclude=./.swiftpm --exclude=Package.resolved \
  --exclude='*/.build*' . | tar -C "$scratch/library" -xf -
cp -r "$root/Tests/Consumer/Plain" "$root/Tests/Consumer/WithMacro" "$scratch"

build_and_run Plain
expect_fetched Plain swift-argument-parser swift-log
echo 'ok: a consumer without traits fetches neither swift-syntax nor Yams'

$SWIFT package --package-path "$scratch/WithMacro" resolve >"$scratch/log" 2>&1 || { cat "$scratch/log"; fail resolve; }
expect_fetched WithMacro swift-argument-parser swift-log swift-syntax
echo 'ok: a consumer with the trait Macros fetches swift-syntax'
