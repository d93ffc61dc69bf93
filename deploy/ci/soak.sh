#!/usr/bin/env bash
# soak.sh RUN TIME [MUTANT]: run the tests of the tag soak that match RUN, against
# private servers. What they do is printed while they do it; at the end comes a table
# of all parts with their figures, whatever came out. With MUTANT, the name of a row
# of internal/repocheck/mutants, the program lacks that protection, and the tests should fail.
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
only='^TestSoak'
[ "$1" = . ] || only=$1
packages='./internal/testkit/... ./cmd/accession/...'

# shellcheck disable=SC2086 # several words
parts=$(go test -tags soak -list "$only" $packages | grep '^TestSoak' || true)
[ -n "$parts" ] || { echo "no part of the soak matches $only" >&2; exit 2; }
if [ -n "${3:-}" ]; then
	go run ./internal/repocheck/mutants -run "^$3\$" -overlay "$dir/mutant"
	export GOFLAGS="${GOFLAGS:-} -overlay=$dir/mutant.json" # also for the program that the tests build
fi

code=0
# shellcheck disable=SC2086
SOAK_TIME=$2 SOAK_FIGURES=$dir/figures ACCESSION_TEST_STEPS=all deploy/ci/with-stack.sh \
	go test -tags soak -p 1 -count=1 -timeout 6h -v -run "$only" $packages | tee "$dir/said" || code=$?

echo
for part in $parts; do
	result=$(awk -v part="$part" '$1 == "---" && $3 == part { sub(":", "", $2); gsub("[()s]", "", $4); printf "%-10s %6.0f s", $2, $4 }' "$dir/said")
	printf '%-19s %s\n' "${result:-NO RESULT}" "$part"
	if [ -e "$dir/figures" ]; then
		sed -n "s|^$part[/:] *|                      |p" "$dir/figures"
	fi
done
exit "$code"
