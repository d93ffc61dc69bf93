package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// TestNamesOfOtherSystems: each row of the table in docs/queues.md has commands that the
// program understands and an event of a kind of setting, or says that it is not there.
func TestNamesOfOtherSystems(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(readPage(t, "docs/queues.md"), "### Names in other systems")
	var rows []string
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.Contains(line, "---") || strings.HasPrefix(line, "| there") {
			continue
		}
		rows = append(rows, strings.TrimSpace(cells[1]))
		commands := commandNamed.FindAllStringSubmatch(cells[2], -1)
		if len(commands) == 0 {
			if !strings.Contains(cells[2], "not there yet") || strings.TrimSpace(cells[3]) != "–" {
				t.Errorf("no command, and not said to be missing: %s", line)
			}
			continue
		}
		for _, m := range commands {
			args := strings.NewReplacer("QUEUE", "metadata", "USER...", "ana", "NAME", "films", "LIST", "ana,ben", " N", " 3").Replace(m[1])
			root := (&program{}).root()
			found, rest, err := root.Find(strings.Fields(args))
			if err == nil {
				err = found.ParseFlags(rest)
			}
			if err == nil {
				err = found.Args(found, found.Flags().Args())
			}
			if err != nil || !found.Runnable() || found.Flags().Lookup("reason") == nil {
				t.Errorf("`accession %s`: %v", args, err)
			}
		}
		if !slices.ContainsFunc(domain.SettingKinds, func(k domain.SettingKind) bool {
			return k.Kind.OfQueue() && strings.Contains(cells[3], "`setting.changed`, kind `"+string(k.Kind)+"`")
		}) {
			t.Errorf("no event: %s", line)
		}
	}
	for _, name := range []string{"DefaultConcurrency", "DefaultAllocation", "assignUsersDefaultConcurrencies", "assignUsersDefaultAllocations", "ProhibitedUsers",
		"suspended", "upload notifications", "processor added", "processor set", "processor started", "processor stopped", "processor removed"} {
		if !slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, name) }) {
			t.Errorf("%s is not in the table", name)
		}
	}
}

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
