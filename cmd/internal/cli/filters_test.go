package cli

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// commandOf are the commands that carry out reading operations of another name.
var commandOf = map[string]string{"report.show": "report", "status.show": "status", "event.follow": "events ls", "upload.show": "drop show"}

// noCommandReads says why no command carries out a reading operation.
var noCommandReads = map[string]string{
	"self.show":       "who a session or key is of: a command knows it",
	"object.manifest": "a file as it is stored",
	"job.stored":      "for services that store or record versions; `accession object get` has what is recorded",
	"compute.input":   "for workers of others",
}

// otherFlag says why a command has no flag of the name of a parameter.
var otherFlag = map[string]string{
	"event.follow after":  "--from is the first sequence, and not the one before",
	"event.follow newest": "events tail begins with them",
	"event.follow kind":   "--type job.* chooses a kind",
	"discover.look url":   "it is an argument",
}

// atToo are commands with --at that carry out an operation of another command.
var atToo = map[string]string{"file history": "file.show"}

// parameters returns the names of the parameters of an input in its query.
func parameters(t reflect.Type) (names []string) {
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("query"), ","); name != "" {
			names = append(names, name)
		}
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			names = append(names, parameters(f.Type)...)
		}
	}
	return names
}

// found returns the command of a name, nil = there is none.
func found(root *cobra.Command, name string) *cobra.Command {
	c, rest, err := root.Find(strings.Fields(name))
	if err != nil || len(rest) > 0 || c == root {
		return nil
	}
	return c
}

// TestFlagsAreTheParameters: what a reading operation takes over HTTP, the command that carries
// it out takes as a flag of the same name: the filters of lists, and the moment as of which
// something is shown. No other command has the latter.
func TestFlagsAreTheParameters(t *testing.T) {
	t.Parallel()
	root := (&program{}).root()
	past, used := map[string]bool{}, map[string]bool{}
	for _, op := range operation.Table() {
		if op.Method != http.MethodGet {
			continue
		}
		name := commandOf[op.Name]
		if name == "" {
			name = strings.ReplaceAll(op.Name, ".", " ")
		}
		c := found(root, name)
		if used[op.Name] = noCommandReads[op.Name] != ""; (c == nil) != used[op.Name] {
			t.Errorf("%s: is there `accession %s`: %t; why not: %q", op.Name, name, c != nil, noCommandReads[op.Name])
		}
		if c == nil {
			continue
		}
		takes := parameters(op.Input)
		if op.Past != slices.Contains(takes, "at") {
			t.Errorf("%s is said to take at: %t; it takes %q", op.Name, op.Past, takes)
		}
		past[name] = op.Past
		for _, p := range takes {
			why := otherFlag[op.Name+" "+p]
			used[op.Name+" "+p] = why != ""
			if has := c.Flags().Lookup(strings.ReplaceAll(p, "_", "-")) != nil || p == "format"; has != (why == "") {
				t.Errorf("accession %s: has a flag for the parameter %s of %s: %t; why not: %q", name, p, op.Name, has, why)
			}
		}
	}
	for name, op := range atToo {
		past[name] = operation.Named(op).Past
	}
	for _, c := range all(root) {
		name := strings.TrimPrefix(c.CommandPath(), "accession ")
		if at := c.Flags().Lookup("at") != nil; at != past[name] {
			t.Errorf("accession %s has --at: %t; its operation has a past: %t", name, at, past[name])
		}
	}
	for _, reasons := range []map[string]string{noCommandReads, otherFlag} {
		for name := range reasons {
			if !used[name] {
				t.Errorf("%s is no exception any more", name)
			}
		}
	}
}

// TestFiltersAreCompleted: the flags of every list whose values are listed somewhere are
// completed.
func TestFiltersAreCompleted(t *testing.T) {
	t.Parallel()
	n := 0
	for _, c := range all((&program{}).root()) {
		for _, name := range []string{"batch", "job", "profile", "collection", "dataset", "user", "state"} {
			if !c.Runnable() || c.Flags().Lookup(name) == nil {
				continue
			}
			n++
			if _, completed := c.GetFlagCompletionFunc(name); !completed {
				t.Errorf("accession %s --%s completes nothing", strings.TrimPrefix(c.CommandPath(), "accession "), name)
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d flags", n)
	}
}
