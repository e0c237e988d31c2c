#!/bin/sh
# symbols.sh FILE...: fails where an object or archive defines a global name that does not begin with `weir`. Such a name
# belongs to the program that Weir is linked into: the linker would take one of the two for the other.
set -u
[ $# -gt 0 ] || { echo 'weir: no object to look for names in' >&2; exit 1; }
nm -g --defined-only -P "$@" >/dev/null || exit 1
# AddressSanitizer marks each variable with a name of its own. A line of one field is the name of an archive's member.
strangers=$(nm -g --defined-only -P "$@" | sed 's/^__odr_asan\.//' | awk 'NF > 1 && $1 !~ /^weir/ { print $1 }' | sort -u)
[ -z "$strangers" ] || {
  echo "weir: global names without the prefix weir (see Sources/CWeir/system/names.h):" $strangers >&2; exit 1; }
echo "ok: every global name begins with weir in $1, and in $(($# - 1)) more"
