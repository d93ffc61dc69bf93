package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing that is wrong with a profile.
type Fault struct {
	File    string
	Line    int    // from 1, 0 = the file as a whole
	Field   string // such as fetch.allow[1], "" = none
	Problem string
	Remedy  string
}

// String returns file:line: field: problem; remedy.
func (f Fault) String() string {
	s := f.File
	if f.Line > 0 {
		s += fmt.Sprintf(":%d", f.Line)
	}
	if f.Field != "" {
		s += ": " + f.Field
	}
	s += ": " + f.Problem
	if f.Remedy != "" {
		s += "; " + f.Remedy
	}
	return s
}

// Faults is the error that names every fault found.
type Faults []Fault

// Error returns one fault a line, below a line that counts them.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.String()
	}
	return fmt.Sprintf("faults in the profiles: %d\n%s", len(fs), strings.Join(lines, "\n"))
}

// asError returns the faults in order, nil for none.
func (fs Faults) asError() error {
	if len(fs) == 0 {
		return nil
	}
	slices.SortStableFunc(fs, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return fs
}

// NotFoundError is the error for a name that no profile has.
type NotFoundError struct {
	Name  string
	Known []string // the names there are, sorted
}

// Error lists the profiles that there are.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("no profile is named %q; known are: %s", e.Name, strings.Join(e.Known, ", "))
}
