#!/bin/sh
# webservers.sh DIRECTORY: unpacks Debian's nginx, Apache, lighttpd and Caddy there, as far as
# the machine lacks them, for tests that read their listings of directories and for benchmarks
# that compare with nginx. They are not installed, so that no server of them runs or is enabled
# on the machine.
set -eu
directory=$1

# have PROGRAM: succeeds when the machine has it, or the directory.
have() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || [ -x "$directory/usr/sbin/$1" ] || [ -x "$directory/usr/bin/$1" ]; }

packages=''
for program in nginx apache2 lighttpd caddy; do
	if have "$program"; then continue; fi
	case $program in
	apache2) packages="$packages apache2-bin libapr1 libaprutil1" ;; # with the libraries that only it uses
	*) packages="$packages $program" ;;
	esac
done
if [ -z "$packages" ]; then exit 0; fi
if ! command -v apt-get >/dev/null 2>&1; then
	echo "setup: nginx, apache2 (with mod_autoindex), lighttpd or caddy is missing; install them with your package manager" >&2
	exit 1
fi
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
echo "setup: unpacking into $directory:$packages" >&2
# shellcheck disable=SC2086 # a list of words
fetch() { (cd "$new" && apt-get download -qq $packages); }
if ! fetch 2>/dev/null; then # the lists of packages are missing or outdated
	if [ "$(id -u)" -eq 0 ]; then apt-get update -qq; else sudo apt-get update -qq; fi
	fetch
fi
mkdir -p "$directory"
for package in "$new"/*.deb; do dpkg-deb -x "$package" "$directory"; done
