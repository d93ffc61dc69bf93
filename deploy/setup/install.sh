#!/bin/sh
# Prepares a Debian or Ubuntu machine for `make demo`, and with the argument "test"
# for `make test` too. Prints nothing when nothing is missing. Otherwise it names what
# is missing and installs only that with apt-get (with sudo unless run as root). On
# other systems it names the packages to install. Exits with 0 when nothing is missing
# at the end.
#
# PostgreSQL is installed without a database cluster, ZooKeeper as a library only: no
# new service runs on the machine afterwards.
set -eu

# Another root directory, for the tests of this script.
root=${ACCESSION_SETUP_ROOT:-}

usage() {
	echo "usage: install.sh [test]" >&2
	exit 2
}

say() { echo "setup: $*" >&2; }

has() { command -v "$1" >/dev/null 2>&1; }

# have_file PATTERN...: succeeds when a file matches one of the patterns.
have_file() {
	for file in "$@"; do
		if [ -e "$file" ]; then return 0; fi
	done
	return 1
}

# want NAME PACKAGE CHECK...: records NAME and PACKAGE as missing when CHECK fails.
want() {
	name=$1 package=$2
	shift 2
	if ! "$@"; then
		missing="${missing:+$missing, }$name"
		packages="${packages:+$packages }$package"
	fi
}

have_java() { { [ -n "${JAVA_HOME:-}" ] && [ -x "$JAVA_HOME/bin/java" ]; } || has java; }

have_postgres() { have_file "$root"/usr/lib/postgresql/*/bin/initdb || has initdb; }

# Fills missing (names for people) and packages (Debian's names).
look() {
	missing='' packages=''
	want "a Java runtime" default-jre-headless have_java
	want "ZooKeeper's jar" libzookeeper-java have_file "$root/usr/share/java/zookeeper.jar"
	want "the slf4j-simple jar" libslf4j-java have_file "$root/usr/share/java/slf4j-simple.jar"
	want "PostgreSQL's server" postgresql have_postgres
	if [ "$purpose" = test ]; then
		want "a C compiler (for the race detector)" gcc has gcc
		want "the C library's headers" libc6-dev have_file "$root/usr/include/stdlib.h"
	fi
}

# Go 1.21 and newer fetch the version that go.mod names.
check_go() {
	if ! has go; then
		say "Go is missing. Install it from https://go.dev/dl/ (1.21 or newer; it fetches the version in go.mod by itself)."
		return 1
	fi
	version=$(GOTOOLCHAIN=local go env GOVERSION 2>/dev/null || true)
	case $version in
	go1.? | go1.?.* | go1.1? | go1.1?.* | go1.20 | go1.20.*)
		say "$version is too old to fetch the version that go.mod names. Install 1.21 or newer from https://go.dev/dl/."
		return 1
		;;
	esac
}

is_debian() {
	[ -r "$root/etc/os-release" ] && grep -Eq '^ID(_LIKE)?=.*(debian|ubuntu)' "$root/etc/os-release" && has apt-get
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		env DEBIAN_FRONTEND=noninteractive "$@"
	else
		sudo env DEBIAN_FRONTEND=noninteractive "$@"
	fi
}

# The package of PostgreSQL creates and starts a cluster unless a file forbids it. The
# file is removed after the installation, so that later installations are not affected.
no_cluster=$root/etc/postgresql-common/createcluster.d/accession-setup.conf

forbid_cluster() {
	trap allow_cluster EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	as_root mkdir -p "${no_cluster%/*}"
	echo "create_main_cluster = false" | as_root tee "$no_cluster" >/dev/null
}

allow_cluster() { as_root rm -f "$no_cluster"; }

install_packages() {
	# $packages is a list of words without special characters.
	# shellcheck disable=SC2086
	set -- apt-get install --yes --no-install-recommends -o DPkg::Lock::Timeout=300 $packages
	if [ "$(id -u)" -ne 0 ] && ! has sudo; then
		say "neither root nor sudo. As root, run: apt-get update && $*"
		return 1
	fi
	say "installing: $packages"
	as_root apt-get update -o DPkg::Lock::Timeout=300
	case " $packages " in
	*" postgresql "*) forbid_cluster ;;
	esac
	if ! as_root "$@"; then
		say "apt-get failed (see above). On Ubuntu the packages are in the component \"universe\": sudo add-apt-repository universe"
		return 1
	fi
}

case $# in
0) purpose=demo ;;
1) purpose=$1 ;;
*) usage ;;
esac
case $purpose in
demo | test) ;;
*) usage ;;
esac

go_ok=yes
check_go || go_ok=no
look
if [ -n "$missing" ]; then
	say "missing: $missing"
	if ! is_debian; then
		say "This is not Debian or Ubuntu. Install the above with your package manager: a Java runtime (11 or newer),"
		say "ZooKeeper 3.8 or newer with its jar and slf4j-simple.jar in /usr/share/java, PostgreSQL 15 or newer with initdb on the path."
		say "Or run the servers in containers: docker compose up --build (see compose.yaml)."
		exit 1
	fi
	install_packages
	look
	if [ -n "$missing" ]; then
		say "still missing after the installation: $missing"
		exit 1
	fi
	say "all there"
fi
[ "$go_ok" = yes ]
