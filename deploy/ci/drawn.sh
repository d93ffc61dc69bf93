#!/usr/bin/env bash
# drawn.sh EVERY SEED: print one of EVERY lines of the input, sorted, from where the seed says.
# With -v it prints the other ones.
set -euo pipefail

other=0
if [ "$1" = -v ]; then
	other=1
	shift
fi
LC_ALL=C sort | awk -v every="$1" -v seed="$2" -v other="$other" '(NR % every == seed % every) != other'
