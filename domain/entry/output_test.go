package entry

import (
	"strings"
	"testing"
)

func TestNamesOfOutputs(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"spectrum.nc": true, "_": true, "a-b_c.1+2=3@4": true, "0": true, strings.Repeat("x", 128): true,
		"": false, ".": false, "..": false, ".hidden": false, "-rf": false, "a/b": false, `a\b`: false, "a b": false, "ü": false, "a\n": false, "a\x00": false, strings.Repeat("x", 129): false,
	} {
		if err := CheckOutput(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}
