#!/usr/bin/env bash
# install-tool.sh FILE PACKAGE@VERSION: build a tool once, as FILE, outside go.mod.
set -euo pipefail
file=$1 package=$2

toolchain=$(go env GOVERSION) # before leaving the module, whose go.mod names it
mkdir -p "$(dirname "$file")"
dir=$(mktemp -d "$(dirname "$file")/.build.XXXXXX")
trap 'rm -rf "$dir"' EXIT

echo "building $package (once)" >&2
# go install refuses GOBIN for another platform; these tools run here.
env -u GOOS -u GOARCH GOFLAGS= GOTOOLCHAIN="$toolchain" CGO_ENABLED=0 GOBIN="$dir" go install "$package"
mv "$dir"/* "$file"
