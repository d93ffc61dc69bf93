#!/usr/bin/env bash
# Write everything that is generated again, in a copy of the tree, and compare.
# Works on a copy so that a check never changes what it checks.
# SQLC and OAPI name the generators; without OAPI it is built in the copy.
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/committed"
tar -c --exclude=./.git --exclude=./bin --exclude=./.accession . | tar -x -C "$dir/committed"
cp -R "$dir/committed" "$dir/generated"

make -C "$dir/generated" generate SQLC="$SQLC" ${OAPI:+OAPI="$OAPI"} >"$dir/log" 2>&1 || {
	cat "$dir/log" >&2
	echo "generating failed: see above" >&2
	exit 1
}
if ! diff -ru --exclude=bin "$dir/committed" "$dir/generated"; then
	echo "generated files are stale (see the difference above): run 'make generate' and commit the result" >&2
	exit 1
fi
echo "generated files are up to date"
