package flags

import (
	"errors"
	"strconv"

	"github.com/accession-ingest/accession/cmd/internal/app/queues"
)

// Number is a flag for a number of 0 or more that can be unset. Nil = it was not given.
type Number struct{ Is queues.Number }

// String implements pflag.Value.
func (n *Number) String() string {
	switch {
	case n.Is == nil:
		return ""
	case *n.Is == queues.Unset:
		return "unset"
	}
	return strconv.Itoa(*n.Is)
}

// Set implements pflag.Value.
func (n *Number) Set(s string) error {
	of := queues.Unset
	if s != "unset" {
		parsed, err := strconv.Atoi(s)
		if err != nil || parsed < 0 {
			return errors.New("give 0 or more, or unset")
		}
		of = parsed
	}
	n.Is = &of
	return nil
}

// Type implements pflag.Value.
func (n *Number) Type() string { return "N" }
