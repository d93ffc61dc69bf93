// Command accession ingests deposits; `accession help` lists what it can do.
package main

import (
	"context"
	"os"

	"github.com/accession-ingest/accession/cmd/internal/cli"
	"github.com/accession-ingest/accession/cmd/internal/stack"
)

func main() {
	if stack.ChildMain() { // a private server of a stack
		return
	}
	os.Exit(cli.Main(context.Background(), os.Args[1:], cli.System()))
}
