package projections_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
)

// directory adds the files of an open directory.
func (w *world) directory() {
	projtest.Directory(func(hash domain.FileHash, cmd func(domain.File) domain.FileCommand) { w.mustFile(hash, cmd) })
}

// TestReconciliationOfADataset: each way in which listed, held and processed may differ has
// its result, also in pages, and the counts are those of the rows.
func TestReconciliationOfADataset(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.directory()
	db, ctx := projected(t, w), t.Context()
	want := projtest.Listings(t, db, w.now.Add(time.Hour))
	got, counts := map[string][]string{}, map[string]int64{}
	for f, err := range query.ReconciledFiles(ctx, db, projtest.DirectoryDataset) {
		if err != nil {
			t.Fatal(err)
		}
		got[f.Path] = append(got[f.Path], f.Result)
		counts[f.Result]++
		if listed := !slices.Contains([]string{"extra", "gone", "replaced"}, f.Result); f.Listed != listed || f.Held != (f.Result != "missing" && f.Result != "gone") {
			t.Errorf("%s is %s: listed %v, held %v", f.Path, f.Result, f.Listed, f.Held)
		}
	}
	for _, of := range []map[string][]string{got, want} {
		for _, list := range of {
			slices.Sort(list)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	sums, err := query.DatasetResults(ctx, db, projtest.DirectoryDataset)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sums {
		if counts[s.Result] != s.Files {
			t.Errorf("%d files are %s, %d are counted", counts[s.Result], s.Result, s.Files)
		}
		delete(counts, s.Result)
	}
	if len(counts) > 0 {
		t.Errorf("not counted: %v", counts)
	}
	for range query.ReconciledFiles(ctx, db, "another") {
		t.Error("a dataset without files has one")
	}
}
