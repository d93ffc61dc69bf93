package cli

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/tables"
)

func sampleDiff() tables.Diff {
	text := func(s string) *string { return &s }
	return tables.Diff{
		Before: tables.Generation{Schema: "accession", Seq: 42, Rules: 1},
		After:  tables.Generation{Schema: "accession_next", Seq: 42, Rules: 2},
		Tables: []tables.TableDiff{
			{Table: "batch", RowsBefore: 3, RowsAfter: 3},
			{Table: "job", RowsBefore: 9, RowsAfter: 9, OnlyBefore: 1, OnlyAfter: 1, Changed: 3, ColumnsAfter: []string{"colour"}, Rows: []tables.RowDiff{
				{Key: []string{"jid\x1b]0;x\a"}, Change: tables.RowOnlyBefore},
				{Key: []string{"jid2"}, Change: tables.RowChanged, Columns: []tables.ColumnDiff{
					{Column: "erc_what", Before: text("=cmd\x1b[2J\r\u202e"), After: nil},
					{Column: "callback", Before: text("NULL"), After: text("")},
					{Column: "row_fault", Before: text(strings.Repeat("a", 200) + "was" + strings.Repeat("b", 200)), After: text(strings.Repeat("a", 200) + "is")},
				}},
			}},
		},
	}
}

// TestDiffIsShown: what outsiders wrote does nothing to a terminal or a
// spreadsheet, long values show where they differ, and what was cut is told.
func TestDiffIsShown(t *testing.T) {
	t.Parallel()
	var out, told bytes.Buffer
	p := &program{IO: IO{Out: &out, Err: &told}, output: "table"}
	if err := p.showDiff(sampleDiff()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"after: accession_next, projection version 2; both at event 42", "DIFFERENT", "equal", "jid�]0;x�", "only before",
		`"=cmd\x1b[2J\r\u202e"`, `"NULL"`, `""`, `…"aaaaaaaaaaaaaaawasbbb`, `…"aaaaaaaaaaaaaaais"`,
		"job has these columns only after; they were not compared: colour", "2 of 5 different rows of job; --limit for more",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is missing in\n%s", want, out.String())
		}
	}
	if strings.ContainsAny(out.String(), "\x1b\a\r\u202e") {
		t.Errorf("%q", out.String())
	}

	out.Reset()
	p.output = "csv"
	if err := p.showDiff(sampleDiff()); err != nil {
		t.Fatal(err)
	}
	cells, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(cells) != 5 || strings.Join(cells[0], " ") != "table key row column before after" {
		t.Fatal(cells, err)
	}
	if got := cells[2]; got[3] != "erc_what" || !strings.HasPrefix(got[4], "'=cmd") || strings.Contains(got[4], "\x1b") || got[5] != "NULL" {
		t.Errorf("%q", got)
	}
	if !strings.Contains(told.String(), "2 of 5 different rows of job") {
		t.Errorf("it is not told that it was cut: %q", told.String())
	}

	out.Reset()
	p.output = "json"
	if err := p.showDiff(sampleDiff()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"after": null`, `"only_before": 1`, `"seq": 42`, `"columns_only_after"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is missing in\n%s", want, out.String())
		}
	}
}
