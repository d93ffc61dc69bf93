// Command testreport reads the stream of `go test -json` and prints what a person
// wants to see of it: the ordinary output of go test (failures in full, passes
// only as package lines), then the slowest tests, the counts, every package's line
// once more, and at the very end each failed test with the beginnings of its messages.
// It runs in the directory of the module, whose source says which lines are only logs.
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
	kept, err := run(os.Stdin, bufio.NewWriter(os.Stdout), os.DirFS("."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(2)
	}
	if !kept {
		os.Exit(1)
	}
}
