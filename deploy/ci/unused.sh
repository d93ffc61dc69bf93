#!/usr/bin/env bash
# unused.sh: fail when the program holds a function that only tests call.
# DEADCODE names the tool that finds them.
set -euo pipefail

# What others than the program call, each with its reason.
allowed=(
  # The servers of a private stack are killed and started again by the tests of faults,
  # which have no other way to them.
  cmd/internal/stack/
  # The YAML library calls what a type of a field has.
  'cmd/internal/profile/units.go:.*YAML$' 'cmd/internal/profile/units.go:.*String$'
  # Programs of others read events with eventstore/follow.
  'eventstore/codec/message.go:.*: DecodeRaw$'
  # The store in memory, for examples and for tests of programs above.
  'eventstore/codec/outbox.go:.*: MarshalOutbox$'
)
filter=()
for a in "${allowed[@]}"; do filter+=(-e "$a"); done

found=$("$DEADCODE" ./cmd/accession | grep -v "${filter[@]}" || true)
if [[ -n $found ]]; then
  printf '%s\n' "$found" 'only tests call these: move them there, or delete them' >&2
  exit 1
fi
