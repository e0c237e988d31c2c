# shellcheck shell=sh
# twins.sh: what the runners of twins have in common: they read this with `.`. A twin is a fault in a file NAME.sed: a
# sed script, whose lines `# file: PATH` name the files that it is put into. A runner builds a copy of the sources with
# each twin in turn. From the top of the source tree; `copy` is the folder of the copy.

# field TWIN KEY: what the lines `# KEY: …` of a twin say.
field() {
  sed -n "s/^# $2: //p" "$1"
}

# renew PART...: makes these files and folders of the copy what they are in the source tree.
renew() {
  for part in "$@"; do
    [ -e "$part" ] || continue
    rm -rf "${copy:?}/$part"
    mkdir -p "$(dirname "$copy/$part")" && cp -a "$part" "$copy/$part" || exit 1
  done
}

# empty_tests [BUT]: leaves nothing in the folders of tests, which the manifest names, but in that of this name.
empty_tests() {
  for tests in Tests/*Tests; do
    [ "$tests" != "Tests/${1:-}" ] || continue
    rm -rf "${copy:?}/$tests"
    mkdir -p "$copy/$tests" && echo '// Nothing.' >"$copy/$tests/Nothing.swift" || exit 1
  done
}

# put_in TWIN: puts a fault into the copy.
put_in() {
  for file in $(field "$1" file); do
    mkdir -p "$copy/sound/$(dirname "$file")"
    cp "$copy/$file" "$copy/sound/$file" && sed -i -f "$1" "$copy/$file" || exit 1
    if cmp -s "$copy/sound/$file" "$copy/$file"; then
      echo "twin $(basename "$1" .sed): it changes nothing in $file" >&2
      exit 1
    fi
  done
}

# take_out TWIN: makes the copy sound again.
take_out() {
  for file in $(field "$1" file); do cp "$copy/sound/$file" "$copy/$file" || exit 1; done
}
