package config

import (
	"fmt"
	"strings"
)

// Fault is one thing that is wrong with the settings.
type Fault struct {
	Key     string // such as nats_stream, "" = the file as a whole
	Origin  string // where the value came from, such as environment ACCESSION_NATS
	Problem string
	Remedy  string
}

// String gives key (origin): problem; remedy.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.Key)
	if f.Origin != "" {
		if f.Key != "" {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "(%s)", f.Origin)
	}
	b.WriteString(": " + f.Problem)
	if f.Remedy != "" {
		b.WriteString("; " + f.Remedy)
	}
	return b.String()
}

// Faults is the error that names every fault found, in the order of the settings.
type Faults []Fault

// Error gives one fault a line, below a line that counts them.
func (fs Faults) Error() string {
	lines := make([]string, 0, len(fs)+1)
	lines = append(lines, fmt.Sprintf("faults in the settings: %d", len(fs)))
	for _, f := range fs {
		lines = append(lines, "  "+f.String())
	}
	return strings.Join(lines, "\n")
}
