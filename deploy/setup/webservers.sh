#!/bin/sh
# nginx.sh DIRECTORY: unpacks Debian's nginx there, for the benchmarks that compare with it,
# unless the machine has one. It is not installed, so that no server of it runs or is
# enabled on the machine.
set -eu
directory=$1

if command -v nginx >/dev/null 2>&1 || [ -x /usr/sbin/nginx ] || [ -x "$directory/usr/sbin/nginx" ]; then exit 0; fi
if ! command -v apt-get >/dev/null 2>&1; then
	echo "setup: nginx is missing; install it with your package manager, benchmarks compare with it" >&2
	exit 1
fi
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
echo "setup: unpacking nginx into $directory" >&2
(cd "$new" && apt-get download -qq nginx)
mkdir -p "$directory"
dpkg-deb -x "$new"/nginx_*.deb "$directory"
