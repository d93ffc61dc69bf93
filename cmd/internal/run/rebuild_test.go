package run_test

import (
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
)

// TestRebuildUnderService: a running service and its readers notice nothing of a
// rebuild; what is deposited meanwhile is in the new tables.
func TestRebuildUnderService(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := depositor(t, samples.Handler())
	w.serve()
	first := w.submit(app.Deposit{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest})
	w.rest(first)
	second := w.submit(app.Deposit{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest})
	done, err := w.app.Rebuild(w.ctx(), app.RebuildOptions{KeepOld: true})
	if err != nil || done.Compared != "" || done.At == 0 || !done.Kept {
		t.Fatalf("%+v, %v", done, err)
	}
	third := w.submit(app.Deposit{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest})
	for _, id := range []domain.BatchID{second, third} {
		w.rest(id)
	}
	w.agree()
	if err := w.app.DropRebuild(w.ctx()); err != nil {
		t.Error(err)
	}
}
