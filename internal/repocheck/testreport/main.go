// Command testreport reads the stream of `go test -json` and prints what a person
// wants to see of it: the ordinary output of go test (failures in full, passes
// only as package lines), then the slowest tests, the counts, and every package's
// line once more.
//
// It exits 1 when a test or a package failed, when no test ran, and when a test
// was skipped: a promise that was not tried is not kept.
package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	kept, err := run(os.Stdin, bufio.NewWriter(os.Stdout))
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(2)
	}
	if !kept {
		os.Exit(1)
	}
}
