#!/usr/bin/env bash
# Write drawings, schemas, pages and golden files again: every package whose tests
# take -update writes its own. The tests that need servers and live beside them
# are left out; what those write is written by `make documents`.
set -euo pipefail

need_servers='^(TestExamplesOfReports|TestReportsToFiles)$'

grep -rl --include='*_test.go' 'flag.Bool("update"' . | xargs -r -n1 dirname | sort -u | while read -r pkg; do
	go test -count=1 "$pkg" -skip "$need_servers" -update </dev/null
done
