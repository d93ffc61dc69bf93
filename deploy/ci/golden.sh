#!/usr/bin/env bash
# Write drawings, schemas, pages and golden files again: every package whose tests
# take -update writes its own. Left out are the tests beside them that need servers
# (what those write is written by `make documents`), and those that write nothing
# and take long or need what bin/ has.
set -euo pipefail

need_servers='TestExamplesOfReports|TestReportsToFiles'
take_long='TestLongReportsAreStreamed|TestMemoryDoesNotGrowWithTheExport|TestOCFLWriterThatIsKilled'
need_tools='TestOCFLReadByAnotherProgram|Test.*OfRclone'

grep -rl --include='*_test.go' 'flag.Bool("update"' . | xargs -r -n1 dirname | sort -u |
	xargs -r sh -c 'go test -vet=off -count=1 "$@" -skip "$0" -update' "^($need_servers|$take_long|$need_tools)\$|/^S3\$"
