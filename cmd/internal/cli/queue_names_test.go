package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestNamesOfAGrab: what a grab is given in the other system is in docs/queues.md, with flags of
// `accession processor add` that there are, and lists are read as the page says.
func TestNamesOfAGrab(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(readPage(t, "docs/queues.md"), "What a processor's `grabSubmission` is given there")
	table, _, _ = strings.Cut(table, "Lists are separated")
	add, _, err := (&program{}).root().Find([]string{"processor", "add"})
	if err != nil {
		t.Fatal(err)
	}
	flags := 0
	for _, m := range regexp.MustCompile("`--([a-z-]+)`").FindAllStringSubmatch(table, -1) {
		if flags++; add.Flags().Lookup(m[1]) == nil {
			t.Errorf("`accession processor add` has no flag --%s", m[1])
		}
	}
	if flags != 4 {
		t.Errorf("the table has %d flags", flags)
	}
	for _, name := range []string{"submissionTypes", "maxSubmissionSize", "spid", "users", "excludeUsers", "preferredUsers", "lowPriorityUsers"} {
		if !strings.Contains(table, "`"+name+"`") {
			t.Errorf("%s is not in the table", name)
		}
	}
	if got := usersOf([]string{"Ana Li,ben"}); !slices.Equal(got, []string{"Ana Li", "ben"}) {
		t.Errorf("`Ana Li,ben` are the users %q", got)
	}
}
