package compute_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
)

var request = compute.Request{Work: entry.Work{Dataset: "maps", Group: "2026", Priority: 100, Key: "k"}, Request: entry.Request{Submitter: "anna", Inputs: []string{"https://x.test/a"}}}

var failed = domain.Reason{Class: domain.ClassContent, Code: domain.CodeBadFile, Message: "it cannot be read"}

func TestIDs(t *testing.T) {
	t.Parallel()
	if id, err := compute.ParseID("eid0000000042"); err != nil || id != compute.NewID(42) || id.Sequence() != 42 || id.Aggregate().String() != "entry/eid0000000042" {
		t.Errorf("%v, %v", id, err)
	}
	for _, s := range []string{"", "eid42", "jid0000000042", "eid0000000000", "0000000042", "eid-000000042"} {
		if _, err := compute.ParseID(s); err == nil {
			t.Errorf("%q is taken for an id", s)
		}
	}
}

// The table of the page is that of the rules.
func TestPageHasTheTable(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/compute.md")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	for _, row := range compute.Transitions {
		fmt.Fprintf(&table, "| %s | %s | %s | `%s` | %s |\n", row.Row, row.From, row.To, row.Event, row.By)
	}
	if !strings.Contains(string(page), strings.ReplaceAll(table.String(), "|  |", "| |")) {
		t.Errorf("docs/compute.md lacks the table:\n%s", table.String())
	}
}
