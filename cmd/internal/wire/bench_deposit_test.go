package wire

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/fair/settings"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// BenchmarkDepositWay measures the whole way of batches, from their deposit to the row of
// their report in PostgreSQL, by 16 depositors and as many workers whose steps do nothing:
// claimed as in a tree without deposit queues, and grabbed. of-without compares the rates
// of one run.
func BenchmarkDepositWay(b *testing.B) {
	for _, jobs := range []int{0, 1, 10} {
		without := 0.0
		for _, ring := range []bool{false, true} {
			b.Run(fmt.Sprintf("jobs=%d/%s", jobs, map[bool]string{false: "without", true: "ring"}[ring]), func(b *testing.B) {
				unbounded, v := 1_000_000_000, settings.New()
				v.Queue.Concurrency = &unbounded
				w := newBenchInstallation(b, zklive.Config{GroupCommit: true, DepositQueues: map[string]settings.Values{fair.QueueMetadata: v}})
				if ring {
					w.handler.Rings = w.store.Rings
				}
				w.way(b, 64, jobs) // servers and program get warm
				w.projected(b)
				b.ResetTimer()
				w.way(b, b.N, jobs)
				w.projected(b)
				rate := float64(b.N) / b.Elapsed().Seconds()
				if !ring {
					without = rate
				}
				b.ReportMetric(rate, "deposits/s")
				if without > 0 {
					b.ReportMetric(rate/without, "of-without")
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// way brings n batches of so many jobs from their deposit to their report.
func (w *benchInstallation) way(b *testing.B, n, jobs int) {
	b.Helper()
	const workers = 16
	var begun atomic.Int64
	g, ctx := errgroup.WithContext(b.Context())
	for worker := range workers {
		g.Go(func() error {
			for begun.Add(1) <= int64(n) {
				if err := w.deposit(ctx, fmt.Sprintf("user%05d", worker), jobs); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
}

// deposit makes a batch, takes the one whose turn it is and lists its jobs, walks as many
// jobs as come, and reports the batches whose last job it walked.
func (w *benchInstallation) deposit(ctx context.Context, user string, jobs int) error {
	id, err := w.store.ReserveBatchID(ctx)
	if err != nil {
		return err
	}
	if err := w.batch(ctx, id, domain.SubmitBatch{Submission: domain.Submission{ProfileName: "maps", Submitter: user, Type: domain.TypeFileBatchManifest,
		PayloadURL: "https://files.example.org/deposits/2026/batch.checkm", SubmissionMode: "add"}}, eventstore.Meta{Actor: "bench"}); err != nil {
		return err
	}
	c, id, err := w.take(ctx)
	if err != nil {
		return err
	}
	begin := domain.StartBatch{}
	if jobs == 0 {
		begin.Problem = &domain.Reason{Class: domain.ClassContent, Code: domain.CodeManifestInvalid, Message: "it is bad"}
	} else if err := w.list(ctx, id, c, jobs); err != nil {
		return err
	}
	if err := w.batch(ctx, id, begin, eventstore.Meta{Actor: "bench", Claim: c}); err != nil {
		return err
	}
	if jobs == 0 {
		return w.report(ctx, id)
	}
	for range jobs {
		of, err := w.walkJob(ctx)
		if err != nil {
			return err
		}
		refs, err := w.store.Refs(ctx, of)
		if err == nil && refs.Processing == 0 {
			err = w.report(ctx, of)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// list makes the jobs of a batch.
func (w *benchInstallation) list(ctx context.Context, id domain.BatchID, c *eventstore.Claim, jobs int) error {
	meta := eventstore.Meta{Actor: "bench", Claim: c, KeepClaim: true}
	first, err := w.store.ReserveJobIDs(ctx, jobs)
	if err == nil {
		err = w.batch(ctx, id, domain.ListBatch{Listing: domain.Listing{Rows: jobs, FirstJID: first}}, meta)
	}
	if err != nil {
		return err
	}
	cmds := make([]domain.CreateJob, jobs)
	for row := range cmds {
		cmds[row] = domain.CreateJob{Priority: 5, Configuration: domain.Configuration{BatchID: id, ProfileName: "maps", Row: row}}
	}
	events, err := w.handler.CreateJobs(ctx, first, 0, cmds, meta)
	w.committed.Add(int64(len(events)))
	return err
}

// report reports a batch whose jobs have ended, unless another worker has.
func (w *benchInstallation) report(ctx context.Context, id domain.BatchID) error {
	meta := eventstore.Meta{Actor: "bench"}
	err := w.batch(ctx, id, domain.BeginReport{}, meta)
	if _, refused := errors.AsType[*domain.Refused](err); refused || errors.Is(err, eventstore.ErrConflict) {
		return nil
	}
	if err != nil {
		return err
	}
	return w.batch(ctx, id, domain.FinishReport{}, meta)
}

func (w *benchInstallation) batch(ctx context.Context, id domain.BatchID, cmd domain.BatchCommand, m eventstore.Meta) error {
	r, err := w.handler.Batch(ctx, id, cmd, m)
	w.committed.Add(int64(len(r.Events)))
	return err
}

// take claims the next batch, or grabs it.
func (w *benchInstallation) take(ctx context.Context) (*eventstore.Claim, domain.BatchID, error) {
	if w.handler.Rings == nil {
		c, at, err := w.store.NextBatch(ctx, domain.BatchPending, nil)
		return c, at.State.ID, err
	}
	r, err := w.handler.Grab(ctx, fair.QueueMetadata, settings.Default, eventstore.Meta{Actor: "bench"})
	w.committed.Add(int64(len(r.Events)))
	return r.Claim, r.State.ID, err
}
