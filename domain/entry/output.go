package entry

import (
	"fmt"
	"regexp"
)

// Output is a file that a worker leaves beside the result of an entry.
type Output struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// MaxOutputs is how many outputs an entry has at most.
const MaxOutputs = 100

var outputName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+=@-]{0,127}$`)

// CheckOutput refuses what cannot be the name of an output.
func CheckOutput(name string) error {
	if !outputName.MatchString(name) {
		return fmt.Errorf("%q is no name of an output: give 1 to 128 letters, digits and ._+=@-, the first a letter, a digit or _", name)
	}
	return nil
}
