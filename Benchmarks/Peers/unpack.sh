#!/bin/sh
# Unpacks syslog-ng and rsyslog from Debian's packages into a folder. They are not installed: a machine has one syslog
# daemon, and keeps the one that it has.
#
#     unpack.sh FOLDER
set -eu
[ -e "$1/unpacked/done" ] && exit 0
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || {
  echo 'weir: no apt-get and dpkg-deb: syslog-ng and rsyslog are left out'
  exit 0
}
mkdir -p "$1" && cd "$1"
echo 'weir: unpacking syslog-ng and rsyslog'
packages='syslog-ng-core syslog-ng-mod-http libivykis0 libnet1 libwrap0 libpcre3
          rsyslog rsyslog-elasticsearch libestr0 libfastjson4 liblognorm5'
# shellcheck disable=SC2086
apt-get download -qq $packages 2>/dev/null || {
  [ "$(id -u)" = 0 ] && apt-get update -qq
  apt-get download -qq $packages
}
for package in ./*.deb; do dpkg-deb -x "$package" unpacked; done
rm -f ./*.deb
touch unpacked/done
