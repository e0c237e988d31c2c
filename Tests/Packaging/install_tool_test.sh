#!/bin/sh
# install_tool_test.sh MAKE TOOL: installs the tool into a folder of its own, looks at what it installs, and uninstalls.
set -eu
make=${1:?usage: install_tool_test.sh MAKE TOOL} tool=${2:?usage: install_tool_test.sh MAKE TOOL}
. "$(dirname "$0")/checks.sh"

quiet "$make" -C "$here" --no-print-directory install-tool PREFIX="$prefix" INSTALLED_TOOL="$tool"

printf 'first\nsecond\n' | "$prefix/bin/weir" record "$folder/log" >"$failures" 2>&1 || fail "$(cat "$failures")"
[ "$("$prefix/bin/weir" cat "$folder/log" | wc -l)" = 2 ] || fail 'the installed tool does not record'
ok 'the installed tool records and prints'

for page in "$prefix"/share/man/man1/*; do
  groff -man -ww -Kutf8 -Tutf8 "$page" >/dev/null 2>"$failures"
  [ ! -s "$failures" ] || { cat "$failures"; fail "$page"; }
done
"$prefix/bin/weir" --help | grep -q '^SUBCOMMANDS:' || fail 'weir --help names no commands'
"$prefix/bin/weir" --help | sed -n '/SUBCOMMANDS:/,$s/^  \([a-z][a-z-]*\) .*/\1/p' | while read -r command; do
  [ -e "$prefix/share/man/man1/weir-$command.1" ] || fail "weir $command has no manual page"
done
ok "$(find "$prefix/share/man/man1" -type f | wc -l) manual pages; each command has one"

bash -n "$prefix/share/bash-completion/completions/weir"
mkdir -p "$folder/shell/log" && : >"$folder/shell/plan.json"
# offers NAMES WORD...: whether bash offers the names for the last word, where a folder and a file are.
offers() {
  names=$1 && shift
  offered=$(cd "$folder/shell" && bash -c '. "$0"; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _weir weir "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"; printf "%s\n" "${COMPREPLY[@]}" | sort | xargs' \
    "$prefix/share/bash-completion/completions/weir" weir "$@")
  [ "$offered" = "$names" ] || fail "after weir $*, bash offers: $offered"
}
offers log cat ''
offers 'log plan.json' plan check ''
offers 'log plan.json' deliver log --plan ''
offers plan.json deliver log --to p
offers 'power-loss process-crash' collect log --durability p
for file in zsh/site-functions/_weir fish/vendor_completions.d/weir.fish; do
  grep -q verify "$prefix/share/$file" || fail "$file does not complete verify"
done
grep -q "^ExecStart=$prefix/bin/weir deliver " "$prefix/lib/systemd/system/weir-deliver@.service" ||
  fail 'the unit starts another program'
grep -rl '@[a-z]*@' "$prefix/lib" && fail 'a placeholder was not filled in'
[ -s "$prefix/share/weir/apache_access.log" ] || fail 'the sample is not installed'
for name in Yams swift-nio swift-log swift; do
  grep -q "^---- $name: LICENSE" "$prefix/share/doc/weir/third-party-licences" || fail "the licence of $name is missing"
done
ok 'completions, unit, sample, licences'

quiet "$make" -C "$here" --no-print-directory uninstall PREFIX="$prefix"
left=$(find "$prefix" ! -type d)
[ -z "$left" ] || fail "make uninstall leaves $left"
ok 'make uninstall leaves no file'
