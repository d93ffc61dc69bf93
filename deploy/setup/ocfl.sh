#!/bin/sh
# ocfl.sh DIRECTORY: puts an independent reader of OCFL there (ocfl-fs, for Node.js), with which
# tests read stored objects back. Node.js itself is installed by apt-get if the machine lacks it.
set -eu
directory=$1
from=$(dirname "$0")/ocfl

if ! command -v npm >/dev/null 2>&1; then
	if ! command -v apt-get >/dev/null 2>&1; then
		echo "setup: Node.js with npm is missing; install it with your package manager" >&2
		exit 1
	fi
	echo "setup: installing nodejs and npm" >&2
	sudo=sudo
	if [ "$(id -u)" -eq 0 ]; then sudo=''; fi
	$sudo apt-get update -qq
	$sudo apt-get install -qq -y --no-install-recommends nodejs npm >/dev/null
fi
# npm writes the lock below node_modules last.
if [ -f "$directory/node_modules/.package-lock.json" ] && cmp -s "$from/package-lock.json" "$directory/package-lock.json"; then exit 0; fi
echo "setup: installing the reader of OCFL into $directory" >&2
mkdir -p "$directory"
cp "$from/package.json" "$from/package-lock.json" "$directory/"
npm ci --silent --no-audit --no-fund --ignore-scripts --prefix "$directory" >/dev/null
