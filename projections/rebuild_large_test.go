//go:build !race

package projections_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/rebuild"
)

// TestRebuildOfManyEvents: a hundred thousand random legal events give the same
// tables to the last byte, one way and the other. It runs without the race detector,
// which would take minutes; smaller rebuilds run with it.
func TestRebuildOfManyEvents(t *testing.T) {
	t.Parallel()
	w := history(t, 37, 100_000)
	db := projtest.DB(t)
	if err := run(t, config(db, w.log)); err != nil {
		t.Fatal(err)
	}
	before := digests(t, db)
	re := anew(db, w.log)
	re.Window = 9000
	done, err := rebuild.Run(context.Background(), re)
	if err != nil || done.Compared != "" || done.At != int64(len(w.log)) || done.Events != done.At {
		t.Fatalf("%+v, %v", done, err)
	}
	if diff := cmp.Diff(before, digests(t, db)); diff != "" {
		t.Error(diff)
	}
}
