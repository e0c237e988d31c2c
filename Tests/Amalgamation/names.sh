#!/bin/sh
# names.sh FOLDER LIBRARY OBJECT...: the global names of weir.o and weir_reader.o, beside those of the library and of
# the headers in FOLDER. Fails where
# - weir.o has other names than the library has of weir.h's;
# - weir_reader.o has other names than weir_reader.h declares, or that header declares a function as weir.h does not;
# - weir_reader.o needs a function that starts a thread, handles a signal, maps memory or changes a file.
set -u
folder=$1 library=$2
shift 2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
fail() { echo "weir: $1" >&2; exit 1; }
# count FILE LEAST WHAT: that a list is not empty by a fault of this script.
count() { [ "$(wc -l <"$1")" -ge "$2" ] || fail "only $(wc -l <"$1") $3: see Tests/Amalgamation/names.sh"; }

# A name with the version of the inlined code in it is the header's name without.
globals() { nm -g --defined-only -P "$1" | awk 'NF > 1 { print $1 }' | sed 's/_abi[0-9]*$//' | sort -u; }
words() { grep -o '[A-Za-z_][A-Za-z_0-9]*' "$1" | sort -u; }
declared() { sed -n 's/^[a-z][^=;{}()]*[ *]\(weir_[a-z_0-9]*\)(.*/\1/p' "$1" | sort -u; }
# Each declaration on a line, without comments and directives.
statements() {
  sed '/^ *#/d' "$1" | tr '\n' ' ' | sed 's|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/| |g; s/  */ /g' | tr ';{}' '\n' |
    sed 's/^ *//; s/ *$//' | sort -u
}

globals "$library" >"$work/library"
words "$folder/weir.h" >"$work/words"
comm -12 "$work/library" "$work/words" >"$work/expected"
count "$work/expected" 50 "names of $library are in $folder/weir.h"
declared "$folder/weir_reader.h" >"$work/declared"
count "$work/declared" 5 "functions are declared in $folder/weir_reader.h"

statements "$folder/weir.h" >"$work/statements"
statements "$folder/weir_reader.h" | grep 'weir_[a-z_]*(' >"$work/reader_statements"
count "$work/reader_statements" "$(wc -l <"$work/declared")" "declarations were found in $folder/weir_reader.h"
other=$(comm -23 "$work/reader_statements" "$work/statements")
[ -z "$other" ] || fail "weir_reader.h declares what weir.h does not: $other"

# What a reader has no use for. It opens files to read them, and asks who holds a lock (fcntl).
threads='pthread_[a-z_]*|fork|vfork'
signals='sigaction|signal|raise|kill'
memory='mmap|mmap64|munmap|msync'
files='p?writev?(64)?|f?truncate(64)?|(posix_)?fallocate(64)?|rename(at2?)?|unlink(at)?|mkdir(at)?|f(data)?sync|flock'

for object; do
  globals "$object" >"$work/found"
  case $object in
    *weir_reader.o) wanted=declared ;;
    *) wanted=expected ;;
  esac
  missing=$(comm -13 "$work/found" "$work/$wanted" | tr '\n' ' ')
  more=$(comm -23 "$work/found" "$work/$wanted" | tr '\n' ' ')
  [ -z "$missing" ] || fail "$object lacks $missing"
  [ -z "$more" ] || fail "$object has global names that it ought not to have: $more"
  if [ "$wanted" = declared ]; then
    nm -u -P "$object" | awk '{ print $1 }' >"$work/needed"
    count "$work/needed" 10 "functions are needed by $object"
    changes=$(grep -xE "$threads|$signals|$memory|$files" "$work/needed" | tr '\n' ' ')
    [ -z "$changes" ] || fail "$object calls $changes: a reader leaves the log and the process as they are"
  fi
done
echo "ok: the global names of weir.o are the library's: $(wc -l <"$work/expected")"
echo "ok: the global names of weir_reader.o are those of weir_reader.h: $(wc -l <"$work/declared")"
