#!/bin/sh
# browser.sh DIRECTORY: unpacks Debian's Chromium there, as a shell without windows, with the
# libraries that the machine lacks, a typeface, and axe-core, which finds what keeps people from
# using a page. Tests of the console need them. Nothing is installed on the machine.
set -eu
directory=$1
axe=4.14.1

shell=$directory/usr/lib/chromium/chromium-headless-shell
rules=$directory/axe-core/axe.min.js
version=$directory/axe-core/$axe

missing=''
for program in npm apt-get dpkg-deb; do
	if ! command -v "$program" >/dev/null 2>&1; then missing="$missing $program"; fi
done
if [ -x "$shell" ] && [ -e "$rules" ] && [ -e "$version" ]; then exit 0; fi
if [ -n "$missing" ]; then
	echo "setup: the tests of the console need Debian's chromium-headless-shell and the npm package axe-core $axe;$missing is missing to get them" >&2
	exit 1
fi
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT

# lacks: the packages that an installation would add. They are unpacked, not installed.
lacks() {
	apt-get install -s --no-install-recommends chromium-headless-shell fonts-dejavu-core 2>/dev/null |
		sed -n 's/^Inst \([^ ]*\) .*/\1/p' | grep -vx xdg-utils
}

fetch() (
	cd "$new"
	packages=$(lacks) || true
	# What the machine has already is not in the list.
	# shellcheck disable=SC2086 # a list of words
	apt-get download -qq chromium-headless-shell chromium-common fonts-dejavu-core $packages
)

if ! [ -x "$shell" ]; then
	echo "setup: unpacking Chromium into $directory" >&2
	if ! fetch 2>/dev/null; then # the lists of packages are missing or outdated
		if [ "$(id -u)" -eq 0 ]; then apt-get update -qq; else sudo apt-get update -qq; fi
		fetch
	fi
	mkdir -p "$directory"
	for package in "$new"/*.deb; do dpkg-deb -x "$package" "$directory"; done
fi
if ! [ -e "$version" ]; then
	(cd "$new" && npm pack --silent "axe-core@$axe" >/dev/null)
	rm -rf "$directory/axe-core"
	mkdir -p "$directory/axe-core"
	tar -xzf "$new/axe-core-$axe.tgz" -C "$directory/axe-core" --strip-components=1 package/axe.min.js package/LICENSE
	touch "$version"
fi
