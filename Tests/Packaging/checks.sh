# checks.sh: for tests of an installation, which source it: a folder that is removed at the end, and how a test tells.
here=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
prefix=$folder/prefix
failures=$folder/failures

fail() { echo "weir: $*" >&2; exit 1; }
ok() { echo "ok: $*"; }
# quiet COMMAND...: its output only if it fails.
quiet() { "$@" >"$failures" 2>&1 || { cat "$failures" >&2; fail "$* failed"; }; }
