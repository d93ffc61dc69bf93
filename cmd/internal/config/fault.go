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

// String returns the fault as KEY (ORIGIN): PROBLEM; REMEDY.
func (f Fault) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s (%s): %s; %s", redactText(f.Key), f.Origin, f.Problem, f.Remedy))
}

// Faults is the error that names every fault, in the order of the settings.
type Faults []Fault

// Error returns the number of faults, then one fault a line.
func (fs Faults) Error() string {
	text := fmt.Sprintf("faults in the settings: %d", len(fs))
	for _, f := range fs {
		text += "\n  " + f.String()
	}
	return text
}
