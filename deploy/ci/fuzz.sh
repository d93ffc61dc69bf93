#!/usr/bin/env bash
# Run every fuzz target of the module for TIME each. Go fuzzes one target a call.
set -euo pipefail

grep -rl --include='*_test.go' '^func Fuzz' . | sort | while read -r file; do
	sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file" | while read -r target; do
		echo "== $target ($(dirname "$file"), ${TIME:-30s})"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${TIME:-30s}" "$(dirname "$file")" </dev/null
	done
done
