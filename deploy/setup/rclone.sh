#!/bin/sh
# rclone.sh FILE: builds the server of rclone that serves directories as buckets by the protocol of
# S3 (`rclone serve s3`), for tests. Debian's rclone is too old to have it. Of rclone's many parts
# only this one, and files on disk, are built: that takes a tenth of the time. It is started by tests
# alone, and no service of it runs on the machine.
set -eu
file=$1
version=v1.76.0

if [ -x "$file" ]; then exit 0; fi
echo "setup: building rclone serve s3 $version as $file (once)" >&2
mkdir -p "$(dirname "$file")"
new=$(mktemp -d "$(dirname "$file")/.build.XXXXXX")
trap 'chmod -R u+w "$new"; rm -rf "$new"' EXIT
toolchain=$(go env GOVERSION) # before leaving the module, whose go.mod names it
source=$(cd "$new" && env GOFLAGS=-mod=mod GOTOOLCHAIN="$toolchain" go mod download -json "github.com/rclone/rclone@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
cp -R "$source" "$new/source"
chmod -R u+w "$new/source"
cat >"$new/source/rclone.go" <<'GO'
package main

import (
	_ "github.com/rclone/rclone/backend/local"
	"github.com/rclone/rclone/cmd"
	_ "github.com/rclone/rclone/cmd/serve"
	_ "github.com/rclone/rclone/cmd/serve/s3"
)

func main() { cmd.Main() }
GO
(cd "$new/source" && env -u GOOS -u GOARCH GOFLAGS=-mod=readonly GOTOOLCHAIN="$toolchain" CGO_ENABLED=0 go build -trimpath -o "../rclone" .)
mv "$new/rclone" "$file"
