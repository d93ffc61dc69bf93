// Command program prints a letter after each crash point that it survives.
package main

import (
	"fmt"

	"github.com/accession-ingest/accession/internal/crash"
)

func main() {
	for range 3 {
		crash.Point("first")
		fmt.Print("a")
		_ = crash.Around("second", func() error {
			fmt.Print("b")
			return nil
		})
	}
}
