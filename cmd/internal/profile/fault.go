package profile

import (
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

// String gives file:line: field: problem; remedy.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d", f.Line)
	}
	if f.Field != "" {
		b.WriteString(": " + f.Field)
	}
	b.WriteString(": " + f.Problem)
	if f.Remedy != "" {
		b.WriteString("; " + f.Remedy)
	}
	return b.String()
}

// Faults is the error that names every fault found.
type Faults []Fault

// Error gives one fault a line, below a line that counts them.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.String()
	}
	return fmt.Sprintf("faults in the profiles: %d\n%s", len(fs), strings.Join(lines, "\n"))
}

// asError orders the faults; no faults are no error.
func (fs Faults) asError() error {
	if len(fs) == 0 {
		return nil
	}
	slices.SortStableFunc(fs, func(a, b Fault) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	return fs
}

// NotFoundError says that no profile has the name.
type NotFoundError struct {
	Name  string
	Known []string // the names there are, sorted
}

// Error names the profiles that there are.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("no profile is named %q; known are: %s", e.Name, strings.Join(e.Known, ", "))
}
