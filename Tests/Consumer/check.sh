#!/bin/sh
# What a package that depends on Weir fetches and builds: without traits swift-log alone, with a trait what that one
# needs.
#
# Works on a copy of the tree, as somebody else would have it: without build folders and pins, under another folder
# name. The consumers without traits and of services are built and run; that of the macro only fetches, for
# quickstart.py builds such a one, and so does that of HTTP, whose packages take minutes to build: `make test` builds
# them elsewhere. With an argument, --long, that one is built and run too. SWIFT and JOBS are as in the Makefile.
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

# Packages of traits: what is not asked for must not be there.
optional='async-http-client hummingbird swift-argument-parser swift-configuration swift-metrics swift-nio
  swift-service-lifecycle swift-syntax yams'

# $1: the consumer, then the packages of $optional that it should have.
expect_fetched() {
  consumer=$scratch/$1
  shift
  [ -s "$consumer/Package.resolved" ] && [ -d "$consumer/.build/repositories" ] || fail "$consumer fetched nothing"
  for name in $optional; do
    case " $* " in
      *" $name "*)
        ls "$consumer/.build/checkouts" | grep -qix "$name" || fail "$name was not fetched"
        continue ;;
    esac
    # Fetched but unpacked nowhere, or pinned for later, would be as bad.
    if grep -qiE "/$name(\.git)?\"" "$consumer/Package.resolved"; then fail "Package.resolved has $name"; fi
    if ls "$consumer/.build/repositories" | grep -qi "^$name-[0-9a-f]*$"; then fail "$name was fetched"; fi
  done
}

resolve() {
  $SWIFT package --package-path "$scratch/$1" resolve >"$scratch/log" 2>&1 || { cat "$scratch/log"; fail "resolve $1"; }
}

build() {
  $SWIFT build -j "$JOBS" -debug-info-format none --disable-index-store "$@"
}

build_and_run() {
  build --package-path "$scratch/$1" >"$scratch/log" 2>&1 ||
    { cat "$scratch/log"; fail "$1 does not build"; }
  printed=$("$scratch/$1/.build/debug/Consumer" "$scratch/$1/events" 2>"$scratch/log") || cat "$scratch/log"
  [ "$printed" = "completed(order: 7, total: 19.9)" ] || fail "$1 printed: $printed"
}

mkdir "$scratch/library"
tar -C "$root" -cf - --exclude='./.build*' --exclude=./.git --exclude=./.swiftpm --exclude=Package.resolved \
  --exclude='*/.build*' . | tar -C "$scratch/library" -xf -
for consumer in WithContract WithMacro WithHTTP WithServices; do cp -r "$root/Tests/Consumer/$consumer" "$scratch"; done

build_and_run WithContract
expect_fetched WithContract
[ "$(fetched "$scratch/WithContract")" = 'swift-log ' ] || fail "WithContract: $(fetched "$scratch/WithContract")"
echo 'ok: a consumer without traits makes code of its contract by the plugin, and fetches swift-log, nothing else'

# A checkout is built with all products, the executable among them, which says what builds the tool.
build --package-path "$scratch/library" --product weir >"$scratch/log" 2>&1 ||
  { cat "$scratch/log"; fail 'the package does not build without traits'; }
if "$scratch/library/.build/debug/weir" >"$scratch/log" 2>&1; then fail 'weir without the tool ends with 0'; fi
grep -q -e '--traits Tool' "$scratch/log" || { cat "$scratch/log"; fail 'weir names no trait'; }
echo 'ok: without the trait Tool weir is built, and says which trait builds the tool'

resolve WithMacro
expect_fetched WithMacro swift-syntax
echo 'ok: a consumer with the trait Macros fetches swift-syntax'

build_and_run WithServices
expect_fetched WithServices swift-configuration swift-metrics swift-service-lifecycle
echo 'ok: a consumer with the traits Lifecycle, Metrics and Configuration fetches the package of each'

if [ "${1-}" = --long ]; then build_and_run WithHTTP; else resolve WithHTTP; fi
# The client of HTTP depends on swift-configuration, and on swift-nio-extras, which depends on the service package.
expect_fetched WithHTTP async-http-client swift-configuration swift-nio swift-service-lifecycle
echo 'ok: a consumer with the trait HTTP fetches async-http-client, no server'
