#!/bin/sh
# deb_test.sh FOLDER: what lintian says of the packages in FOLDER, and what is in them. make test-ways installs them.
set -eu
folder=${1:?usage: deb_test.sh FOLDER}

fail() { echo "weir: $*" >&2; exit 1; }
# holds PACKAGE FILE...: each is in the package.
holds() {
  package=$1; shift
  contents=$(dpkg-deb -c "$folder/$package"_*.deb | awk '{ print $6 }')
  for file in "$@"; do echo "$contents" | grep -q "/$file\$" || fail "$package has no $file"; done
  echo "ok: $package, $(echo "$contents" | grep -vc '/$') files"
}

# As root lintian warns of being root.
lintian --allow-root --display-info --fail-on error,warning,info "$folder"/*.changes
echo 'ok: lintian has nothing to say'
holds libweir1 'libweir.so.1'
[ ! -e "$folder"/weir_*.deb ] || holds weir bin/weir weir.1.gz weir-deliver.1.gz weir-deliver@.service _weir weir.fish
holds libweir-dev weir.h weir_capture.h libweir.a libweir.so weir.pc weir-config.cmake weir.3.gz weir_open.3.gz
