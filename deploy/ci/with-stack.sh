#!/usr/bin/env bash
# with-stack.sh COMMAND…: run COMMAND against private servers in a fresh directory.
# ZOOKEEPER_HEAP is how large the heap of ZooKeeper may become, such as 6 GiB.
# Its exit code is COMMAND's. The directory stays when COMMAND failed, because
# the servers' logs lie there.
set -euo pipefail

# /var/tmp is on a disk everywhere, and PostgreSQL's user can enter it; what is
# made by mktemp is closed to that user until it is opened.
dir=$(mktemp -d /var/tmp/accession-test.XXXXXX)
chmod 755 "$dir"

code=0
bin/accession stack exec --dir "$dir" --zookeeper-heap "${ZOOKEEPER_HEAP:-2 GiB}" -- "$@" || code=$?
if [ "$code" -eq 0 ]; then
	rm -rf "$dir"
else
	echo "the servers' logs are kept in $dir" >&2
fi
exit "$code"
