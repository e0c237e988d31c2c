#!/bin/sh
# install_test.sh MAKE: installs the C library into a folder of its own, and builds programs with it as its users do:
# pkg-config, CMake, both libraries, C and C++. Whatever is installed is moved once, and removed at the end.
set -eu
make=${1:?usage: install_test.sh MAKE}
. "$(dirname "$0")/checks.sh"

# runs PROGRAM NAME: the example captures, and reads back what it captured.
runs() { rm -rf "$folder/log"; quiet "$1" "$folder/log"; ok "$2"; }

quiet "$make" -C "$here" --no-print-directory install PREFIX="$prefix"

# ---- Where everything is -----------------------------------------------------------------------------------------

for file in include/weir.h include/weir_capture.h lib/libweir.a lib/libweir.so lib/pkgconfig/weir.pc \
    lib/cmake/weir/weir-config.cmake share/man/man3/weir.3 share/man/man3/weir_open.3; do
  [ -e "$prefix/$file" ] || fail "$file is not installed"
done
grep -rl "$here/" "$prefix" && fail 'what is installed names the folder in which it was built'
quiet "$make" -C "$here" --no-print-directory install PREFIX=/usr DESTDIR="$folder/staged" LIBDIR=/usr/lib/triplet
grep -rIl "$folder" "$folder/staged" && fail 'what is installed names DESTDIR'
grep -q '^libdir=${prefix}/lib/triplet$' "$folder/staged/usr/lib/triplet/pkgconfig/weir.pc" || fail 'weir.pc: LIBDIR'
[ "$(ls "$folder/staged")" = usr ] || fail 'files were installed outside of PREFIX'
ok 'installed under PREFIX, LIBDIR and DESTDIR'

# ---- pkg-config --------------------------------------------------------------------------------------------------

mv "$prefix" "$folder/moved"; prefix=$folder/moved
sed -i "s|^prefix=.*|prefix=$prefix|" "$prefix/lib/pkgconfig/weir.pc"
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
libs=$(pkg-config --libs weir); libs=${libs% }
[ "$libs" = "-L$prefix/lib -lweir" ] || fail "pkg-config --libs: $libs"
c="$here/Tests/C/example.c"; cpp="$here/Tests/C/example.cpp"
# shellcheck disable=SC2046
{
  quiet cc -std=c11 -Wall -Werror "$c" $(pkg-config --cflags --libs weir) -o "$folder/shared"
  quiet c++ -std=c++17 -Wall -Werror "$cpp" $(pkg-config --cflags --libs weir) -o "$folder/shared-cpp"
  quiet cc -std=c11 "$c" -static -Wl,--fatal-warnings $(pkg-config --static --cflags --libs weir) -o "$folder/static"
}
LD_LIBRARY_PATH="$prefix/lib" runs "$folder/shared" 'C with the shared library, by pkg-config'
LD_LIBRARY_PATH="$prefix/lib" runs "$folder/shared-cpp" 'C++ with the shared library, by pkg-config'
runs "$folder/static" 'C with the static library, by pkg-config --static'
objdump -p "$folder/shared" | grep -q 'NEEDED *libweir\.so\.[0-9]*$' || fail 'the program does not need the soname'
objdump -T "$folder/shared" | grep -q 'WEIR_1\.0' || fail 'the program needs no version of the symbols'

# ---- CMake -------------------------------------------------------------------------------------------------------

# project NAME LINES: a project with the example, and its program.
project() {
  name=$1; lines=$2; shift 2
  mkdir -p "$folder/$name"
  printf 'cmake_minimum_required(VERSION 3.16)\nproject(user LANGUAGES C CXX)\n%s\n' "$lines" >"$folder/$name/CMakeLists.txt"
  printf 'add_executable(example %s)\ntarget_link_libraries(example PRIVATE %s)\n' "$c" "${target:-weir::weir}" \
    >>"$folder/$name/CMakeLists.txt"
  quiet cmake -S "$folder/$name" -B "$folder/$name/build" "$@"
  quiet cmake --build "$folder/$name/build" -j "$(nproc)"
}
found="-DCMAKE_PREFIX_PATH=$prefix"
project found 'find_package(weir 1.0 REQUIRED)' "$found"
runs "$folder/found/build/example" 'find_package(weir), weir::weir'
target=weir::weir_static project found-static 'find_package(weir REQUIRED)' "$found"
runs "$folder/found-static/build/example" 'find_package(weir), weir::weir_static'
mkdir -p "$folder/newer"
printf 'cmake_minimum_required(VERSION 3.16)\nproject(user LANGUAGES C)\nfind_package(weir 2.0 REQUIRED)\n' \
  >"$folder/newer/CMakeLists.txt"
if cmake -S "$folder/newer" -B "$folder/newer/build" "$found" >"$failures" 2>&1; then fail 'find_package(weir 2.0) was content'; fi
grep -q 'version: 1\.' "$failures" || { cat "$failures"; fail 'find_package(weir 2.0) does not say what there is'; }
ok 'find_package(weir 2.0) is refused'
project found-range 'find_package(weir 0.9...1.5 REQUIRED)' "$found"
runs "$folder/found-range/build/example" 'find_package(weir 0.9...1.5)'
mkdir -p "$folder/excluded"
printf 'cmake_minimum_required(VERSION 3.19)\nproject(user LANGUAGES C)\nfind_package(weir 0.9...<%s REQUIRED)\n' \
  "$(pkg-config --modversion weir)" >"$folder/excluded/CMakeLists.txt"
if cmake -S "$folder/excluded" -B "$folder/excluded/build" "$found" >"$failures" 2>&1; then
  fail 'find_package(weir) was content with an excluded version'; fi
ok 'find_package(weir) refuses an excluded version'
mkdir -p "$folder/merged"
cp -R "$prefix" "$folder/merged/usr"
ln -s usr/lib "$folder/merged/lib"
project found-merged 'find_package(weir 1.0 REQUIRED)' "-DCMAKE_PREFIX_PATH=$folder/merged"
runs "$folder/found-merged/build/example" 'find_package(weir) where /lib is a link to /usr/lib'
project subdirectory "add_subdirectory($here weir)"
runs "$folder/subdirectory/build/example" 'add_subdirectory, the static library'
project subdirectory-settings "add_subdirectory($here weir)" -DBUILD_SHARED_LIBS=ON -DCMAKE_UNITY_BUILD=ON \
  -DCMAKE_C_VISIBILITY_PRESET=hidden
runs "$folder/subdirectory-settings/build/example" 'add_subdirectory, in a project that hides names and joins files'
quiet cmake -S "$here" -B "$folder/alone" -DBUILD_SHARED_LIBS=ON -DCMAKE_INSTALL_PREFIX="$folder/by-cmake"
quiet cmake --build "$folder/alone" -j "$(nproc)"
quiet cmake --install "$folder/alone"
project found-again 'find_package(weir 1.0 REQUIRED)' "-DCMAKE_PREFIX_PATH=$folder/by-cmake"
runs "$folder/found-again/build/example" 'the shared library as cmake --install puts it'
quiet cmake -S "$here" -B "$folder/alone-static" -DCMAKE_INSTALL_PREFIX=/usr/local
quiet cmake --build "$folder/alone-static" -j "$(nproc)"
quiet cmake --install "$folder/alone-static" --prefix "$folder/by-cmake-static"
# shellcheck disable=SC2046
quiet cc -std=c11 "$c" $(PKG_CONFIG_PATH="$folder/by-cmake-static/lib/pkgconfig" pkg-config --cflags --libs weir) \
  -pthread -o "$folder/static-by-cmake"
runs "$folder/static-by-cmake" 'the static library as cmake --install puts it, by pkg-config'

# ---- Names -------------------------------------------------------------------------------------------------------

nm -D --defined-only -P "$prefix/lib/libweir.so" | awk '$2 != "A" { sub(/@.*/, "", $1); print $1 }' | sort >"$folder/exported"
printf '#include "weir.h"\n#include "weir_failing.h"\n' >"$folder/all.c"
gcc -std=c11 -I"$prefix/include" -aux-info "$folder/prototypes" -fsyntax-only "$folder/all.c"
{ sed -n '/include\/weir/{/\*\/ static /d;s/.*[ *]\(weir_[a-z0-9_]*\) (.*/\1/p;}' "$folder/prototypes"
  sed -n 's/^extern .*[ *]\(weir_[a-z0-9_]*\)\( __attribute__.*\)*;.*/\1/p' "$prefix"/include/*.h; } | sort >"$folder/declared"
sed 's/_abi[0-9]*$//' "$folder/exported" | diff "$folder/declared" - ||
  fail 'the headers declare other names (<) than libweir.so gives to programs (>): see Packaging/weir.map'
ok "libweir.so gives the $(wc -l <"$folder/exported") names of its headers, and no other"

# glibc keeps 1,664 bytes of such memory for all plug-ins of a process.
tls=$(($(readelf -lW "$prefix/lib/libweir.so" | awk '$1 == "TLS" { print $6 }')))
[ "$tls" -le 192 ] || fail "libweir.so has $tls bytes of static thread-local memory, more than 192"
ok "libweir.so has $tls bytes of static thread-local memory"

# ---- Manual pages ------------------------------------------------------------------------------------------------

for page in "$prefix"/share/man/man3/*; do
  (cd "$prefix/share/man" && groff -man -ww -Tutf8 -s "man3/$(basename "$page")") >/dev/null 2>"$failures"
  [ ! -s "$failures" ] || { cat "$failures"; fail "$page"; }
done
sed -n '/include\/weir\.h/s/.*[ *]\(weir_[a-z0-9_]*\) (.*/\1/p' "$folder/prototypes" | while read -r name; do
  [ -e "$prefix/share/man/man3/$name.3" ] || fail "$name has no manual page: it needs a comment in weir.h"
done
ok "$(find "$prefix/share/man/man3" -type f | wc -l) manual pages; each function of weir.h has one"

touch "$prefix/lib/libweir.so.1.0.0-earlier"
quiet "$make" -C "$here" --no-print-directory uninstall PREFIX="$prefix"
left=$(find "$prefix" ! -type d)
[ -z "$left" ] || fail "make uninstall leaves $left"
ok 'make uninstall leaves no file'
for folders in PREFIX= LIBDIR= LIBDIR=lib 'PREFIX=/a&b' "PREFIX=/it's" 'PREFIX=/w*'; do
  if "$make" -C "$here" --no-print-directory need-folders PREFIX="$prefix" "$folders" >"$failures" 2>&1; then
    fail "make uninstall is content with $folders"; fi
done
ok 'make uninstall refuses folders that are none'
