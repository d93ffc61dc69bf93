package e2e

import (
	"errors"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// What stops the removal of a deleted batch is found and mended; that parts of it are
// gone already is no finding.
func TestVerifyTellsWhatStopsARemoval(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base := webServer(t, samples.Handler())
	stop := in.serveInProcess().stop
	batch := in.submit(app.Deposit{Payload: base + samples.SingleFile})
	in.rest(batch)
	in.seenOf(batch, 1, domain.EventJobCleaned)
	stop()
	in.serveInProcess("relay", "projector")

	ctx, z, dir := in.ctx(), in.raw(), "/batches/"+string(batch)
	handler, err := in.wired.Handler(ctx)
	z.must(err)
	by := eventstore.Meta{Actor: "user/test"}
	_, err = handler.Batch(ctx, batch, domain.CleanBatch{}, by)
	z.must(err)
	finish := func() error {
		return handler.FinishDeletion(ctx, batch, by, func(domain.Job) error { return nil })
	}
	for _, c := range []struct {
		name   string
		damage func()
		want   domain.Code
	}{
		{"a report that cannot be read", func() { z.set(dir+"/status-report", "{") }, consistency.NodeWrong},
		{"a progress that cannot be read", func() { z.set(dir+"/progress", "{") }, consistency.NodeWrong},
		{"a submission that is lost", func() { z.cut(dir + "/submission") }, consistency.NodeMissing},
	} {
		c.damage()
		if err := finish(); !errors.Is(err, eventstore.ErrBroken) {
			t.Errorf("%s: removed, and %v", c.name, err)
		}
		in.mends(c.name, c.want)
	}
	z.cut(dir + "/status-report")
	if v := in.settled(); len(v.Findings) > 0 {
		t.Errorf("parts of it are gone:\n%s", findings(v.Findings))
	}
	z.must(finish())
	in.agree()
}
