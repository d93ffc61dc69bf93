// Package number has a flag for numbers that can be unset.
package number

import (
	"errors"
	"strconv"

	"github.com/accession-ingest/accession/cmd/internal/app/queues"
)

// Flag is 0 or more, or unset. Nil = it was not given.
type Flag struct{ Is queues.Number }

// String implements pflag.Value.
func (n *Flag) String() string {
	switch {
	case n.Is == nil:
		return ""
	case *n.Is == queues.Unset:
		return "unset"
	}
	return strconv.Itoa(*n.Is)
}

// Set implements pflag.Value.
func (n *Flag) Set(s string) error {
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
func (n *Flag) Type() string { return "N" }
