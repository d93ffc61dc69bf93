#!/bin/sh
# secrets.sh [DIRECTORY]: make the passwords of the servers in compose.yaml, once, as files in
# .accession/secrets or DIRECTORY. What is there stays as it is. The directory is closed to
# others; the files are not, since the users of the containers read them.
set -eu
umask 077
dir=${1:-.accession/secrets}
mkdir -p "$dir"

# keep NAME TEXT writes a file whole, unless it is there.
keep() {
	[ ! -e "$dir/$1" ] || return 0
	printf '%s\n' "$2" >"$dir/.$1"
	chmod 444 "$dir/.$1"
	mv "$dir/.$1" "$dir/$1"
}
random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

keep postgres-password "$(random)"
keep nats-password "$(random)"
keep postgres-url "postgres://accession:$(cat "$dir/postgres-password")@postgres:5432/accession?sslmode=disable"
keep nats-url "nats://accession:$(cat "$dir/nats-password")@nats:4222"
keep nats-account "authorization { user: accession, password: \"$(cat "$dir/nats-password")\" }"
