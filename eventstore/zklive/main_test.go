package zklive_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain lets more tests run at once than there are processors, unless the command
// line says how many: most of the time they wait for a session to end.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", "6"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
