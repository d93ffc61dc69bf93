package e2e

import (
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// What is damaged while events of it wait in the outbox is left to a person: drawn
// from the log as it is, it would lose them, and the log would be offered two events
// of one version. Carried, it is mended.
func TestNothingIsRepairedBeforeItsEventsAreInTheLog(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base := webServer(t, samples.Handler())
	in.says(0, words("queue pause pending --reason x"))
	stop := in.serveInProcess().stop
	batch := in.submit(app.Deposit{Payload: base + samples.SingleFile})
	job := in.seenOf(batch, 1, domain.EventJobCreated)[0].Aggregate
	in.seenOf(batch, 1, domain.EventBatchStarted)
	ctx, z := in.ctx(), in.raw()
	handler, err := in.wired.Handler(ctx)
	z.must(err)
	move := func(priority int) {
		_, err := handler.Job(ctx, domain.JobID(job.ID), domain.ReprioritiseJob{Priority: priority}, eventstore.Meta{Actor: "user/test"})
		z.must(err)
	}
	move(6)
	in.seenOf(batch, 1, domain.EventJobReprioritised)
	stop()
	move(7) // no relay publishes this one
	status, progress := "/jobs/"+job.ID+"/status", "/batches/"+string(batch)+"/progress"
	whole := map[string]string{status: z.get(status), progress: z.get(progress)}
	for _, c := range []struct {
		name, about string
		damage      func()
		node        string
	}{
		{"a status that cannot be read", job.String(), func() { z.set(status, "{") }, status},
		{"an old status", job.String(), func() { z.edit(status, `"version":3`, `"version":1`) }, status},
		{"a progress that cannot be read", batch.Aggregate().String(), func() { z.set(progress, "{") }, progress},
		{"rows without jobs", batch.Aggregate().String(), func() { z.edit(progress, `"next_row":1`, `"next_row":0`) }, progress},
	} {
		c.damage()
		damaged := z.get(c.node)
		v, err := in.app.Repair(ctx, app.VerifyOptions{Wait: time.Millisecond})
		z.must(err)
		told := false
		for _, f := range v.Findings {
			told = told || f.Code == consistency.DamagedUnsent && f.Subject == c.about
		}
		if !told || v.Worst != app.NeedsPerson || z.get(c.node) != damaged {
			t.Fatalf("%s: %s, and then the node holds %s\n%s%+v", c.name, v.Worst, z.get(c.node), findings(v.Findings), v.Repairs)
		}
		z.set(c.node, whole[c.node])
	}

	z.set(status, "{")
	z.set(progress, "{")
	in.serveInProcess("relay", "projector")
	in.mends("carried", consistency.StatusWrong)
	in.agree()
}
