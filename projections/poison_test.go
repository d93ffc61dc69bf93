package projections_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/internal/fold"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
)

// spoiled is the source of a log in which one event cannot be read.
func spoiled(log []domain.Recorded, at int) projections.Source {
	return func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
		return func(yield func(domain.Recorded, error) bool) {
			for r, err := range sourceOf(log)(ctx, from) {
				if r.Seq == uint64(at+1) {
					r.Data, r.Type = nil, ""
					err = &projections.Unreadable{Data: []byte("{\x00"), Err: errors.New("it is half an event")}
				}
				if !yield(r, err) {
					return
				}
			}
		}
	}
}

// middle finds an event that is neither the first nor the last of its aggregate.
func (w *world) middle(kind domain.Kind) int {
	last := map[domain.Aggregate]int64{}
	for _, r := range w.log {
		last[r.Aggregate] = r.Version
	}
	for i, r := range w.log {
		if r.Aggregate.Kind == kind && r.Version > 1 && r.Version+1 < last[r.Aggregate] {
			return i
		}
	}
	w.t.Fatalf("no %s has enough events", kind)
	return 0
}

// after counts the events of the aggregate of event i, from it on.
func (w *world) after(i int) (n int) {
	for _, r := range w.log[i:] {
		if r.Aggregate == w.log[i].Aggregate {
			n++
		}
	}
	return n
}

// TestPoison: an event that cannot be applied holds its aggregate, over a restart
// too, and everything else goes on. Once it can be applied, so is what waited, and
// nothing shows that it ever did.
func TestPoison(t *testing.T) {
	t.Parallel()
	untroubled := projtest.DB(t)
	if err := run(t, config(untroubled, history(t, 21, 900).log)); err != nil {
		t.Fatal(err)
	}
	want := digests(t, untroubled)
	for _, kind := range []domain.Kind{domain.KindBatch, domain.KindJob, domain.KindFile, domain.KindSetting} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := history(t, 21, 900)
			db, ctx := projtest.DB(t), context.Background()
			at := w.middle(kind)
			bad := w.log[at]
			var told []*projections.EventError
			for _, end := range []int{at + 3, len(w.log)} { // the second one starts with the aggregate held
				cfg := config(db, w.log[:end])
				cfg.Source, cfg.MaxBatch, cfg.RetryDelay = spoiled(w.log[:end], at), 40, time.Microsecond
				cfg.Held = func(e *projections.EventError) { told = append(told, e) }
				if err := run(t, cfg); err != nil {
					t.Fatal(err)
				}
			}
			if len(told) != 1 || told[0].Seq != bad.Seq || told[0].ID != bad.ID() {
				t.Fatalf("told of %v, want %s once", told, bad.ID())
			}
			n, err := query.CountPoison(ctx, db)
			if err != nil || n.Aggregates != 1 || n.Events != int64(w.after(at)) {
				t.Fatalf("%+v is held, want %d events of one aggregate: %v", n, w.after(at), err)
			}
			if have := count(t, db, "select count(*) from accession.event"); have != len(w.log)-1 {
				t.Errorf("the history has %d events, want all %d but one", have, len(w.log))
			}
			if v := w.projected(db).version(bad.Aggregate); v != bad.Version-1 {
				t.Errorf("%s is at version %d, want the one before %d", bad.Aggregate, v, bad.Version)
			}
			w.othersAreThere(db, bad.Aggregate)

			retried, err := projections.RetryPoison(ctx, db, spoiled(w.log, at), bad.Aggregate)
			if err != nil || retried.Applied != 0 || retried.Waiting != w.after(at) || retried.Err == nil || retried.Err.Seq != bad.Seq {
				t.Fatalf("retried too early: %+v, %v", retried, err)
			}
			row, err := query.PoisonAt(ctx, db, bad.Seq)
			if err != nil || row.Attempts != 4 || !strings.Contains(row.Error, "half an event") || row.Data != "{\uFFFD" {
				t.Fatalf("%+v, %v", row, err)
			}
			before := digests(t, db)
			retried, err = projections.TryPoison(ctx, db, sourceOf(w.log), bad.Aggregate)
			if err != nil || retried.Applied != w.after(at) || retried.Waiting != 0 || retried.Err != nil {
				t.Fatalf("tried: %+v, %v", retried, err)
			}
			tried, err := projections.TryPoison(ctx, db, spoiled(w.log, at), bad.Aggregate)
			if err != nil || tried.Applied != 0 || tried.Waiting != w.after(at) || tried.Err == nil {
				t.Fatalf("tried too early: %+v, %v", tried, err)
			}
			if now, err := query.PoisonAt(ctx, db, bad.Seq); err != nil || !cmp.Equal(row, now) {
				t.Errorf("a retry that was only tried is counted: %+v, %v", now, err)
			}
			if diff := cmp.Diff(before, digests(t, db)); diff != "" {
				t.Errorf("a retry that was only tried has changed (-before +after):\n%s", diff)
			}
			retried, err = projections.RetryPoison(ctx, db, sourceOf(w.log), bad.Aggregate)
			if err != nil || retried.Applied != w.after(at) || retried.Waiting != 0 || retried.Err != nil {
				t.Fatalf("retried: %+v, %v", retried, err)
			}
			w.compare(db)
			if diff := cmp.Diff(want, digests(t, db)); diff != "" {
				t.Errorf("it shows (-untroubled +held for a while):\n%s", diff)
			}
			if _, err := projections.RetryPoison(ctx, db, sourceOf(w.log), bad.Aggregate); !errors.Is(err, query.ErrNotFound) {
				t.Errorf("nothing is held any more: %v", err)
			}
		})
	}
}

// TestPoisonLeavesOutcomes: whether a failed job was deleted by itself or with its
// batch comes out the same, whichever of them was held when the other was applied.
// Shows: P4
func TestPoisonLeavesOutcomes(t *testing.T) {
	t.Parallel()
	s := projtest.NewStory(t)
	const batch, first = domain.BatchID("bid0000000001"), domain.JobID("jid0000000001")
	s.Submit(batch, first, 2, domain.Submission{Submitter: "eve"})
	why := domain.Reason{Class: domain.ClassContent, Code: domain.CodeRowFault, Message: "bad URL", Attempt: 1}
	for i := range 2 {
		s.Job(first.Plus(i), domain.FailJob{Reason: why})
	}
	s.Job(first.Plus(1), domain.DeleteJob{Reason: &why})
	s.Batch(batch, domain.BeginReport{}, domain.FinishReport{Report: domain.NewReport(nil, []domain.JobID{first}, nil, domain.At(s.Now))},
		domain.DeleteBatch{Reason: &why})
	s.Job(first, domain.DeleteJobWithBatch{})
	untroubled, ctx := projtest.DB(t), context.Background()
	if err := run(t, config(untroubled, s.Log)); err != nil {
		t.Fatal(err)
	}
	want := projtest.Digests(t, untroubled)
	for name, of := range map[string]domain.Event{
		"the batch":            {Type: domain.EventBatchStarted, Aggregate: batch.Aggregate()},
		"the job that went":    {Type: domain.EventJobFailed, Aggregate: first.Plus(1).Aggregate()},
		"the job that stayed":  {Type: domain.EventJobFailed, Aggregate: first.Aggregate()},
		"the deletion by hand": {Type: domain.EventJobDeleted, Aggregate: first.Plus(1).Aggregate()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := projtest.DB(t)
			at := slices.IndexFunc(s.Log, func(r domain.Recorded) bool { return r.Type == of.Type && r.Aggregate == of.Aggregate })
			cfg := config(db, s.Log)
			cfg.Source, cfg.RetryDelay = spoiled(s.Log, at), time.Microsecond
			if err := run(t, cfg); err != nil {
				t.Fatal(err)
			}
			if got, err := projections.RetryPoison(ctx, db, sourceOf(s.Log), of.Aggregate); err != nil || got.Applied == 0 || got.Waiting != 0 {
				t.Fatalf("retried: %+v, %v", got, err)
			}
			for job, outcome := range map[domain.JobID]string{first: fold.OutcomeAbandoned, first.Plus(1): fold.OutcomeDeleted} {
				if n := count(t, db, fmt.Sprintf("select count(*) from accession.retry where job_id = '%s' and outcome = '%s'", job, outcome)); n != 1 {
					t.Errorf("%s is not %s", job, outcome)
				}
			}
			if diff := cmp.Diff(want, projtest.Digests(t, db)); diff != "" {
				t.Errorf("it shows (-untroubled +held for a while)\n%s", diff)
			}
		})
	}
}

// version returns the version of an aggregate, 0 = it is not there.
func (w world) version(a domain.Aggregate) int64 {
	switch a.Kind {
	case domain.KindBatch:
		return w.batches[domain.BatchID(a.ID)].Version
	case domain.KindJob:
		return w.jobs[domain.JobID(a.ID)].Version
	case domain.KindFile:
		return w.files[domain.FileHash(a.ID)].Version
	case domain.KindQuery:
		return w.asked[domain.QueryID(a.ID)]
	case domain.KindSlot:
		return int64(w.slotted[a.ID])
	case domain.KindEntry:
		return w.worked[compute.ID(a.ID)]
	default:
		return w.settings[a.ID].Version
	}
}

// othersAreThere checks that all aggregates but one have their last version.
func (w *world) othersAreThere(db query.DB, but domain.Aggregate) {
	w.t.Helper()
	last := map[domain.Aggregate]int64{}
	for _, r := range w.log {
		last[r.Aggregate] = r.Version
	}
	delete(last, but)
	there := w.projected(db)
	for a, want := range last {
		if got := there.version(a); got != want {
			w.t.Errorf("%s is at version %d, want %d", a, got, want)
		}
	}
}

// TestPoisonRow: what PostgreSQL refuses is held like what the rules refuse, and
// several aggregates at once; the rest of their batch of events goes on.
func TestPoisonRow(t *testing.T) {
	t.Parallel()
	w := history(t, 22, 600)
	db, ctx := projtest.DB(t), context.Background()
	bad := []domain.Recorded{w.log[w.middle(domain.KindJob)], w.log[w.middle(domain.KindFile)]}
	for i, r := range bad {
		exec(t, db, fmt.Sprintf("alter table accession.event add constraint refused%d check (id <> '%s')", i, r.ID()))
	}
	cfg := config(db, w.log)
	cfg.RetryDelay = time.Microsecond
	if err := run(t, cfg); err != nil {
		t.Fatal(err)
	}
	if n, err := query.CountPoison(ctx, db); err != nil || n.Aggregates != 2 {
		t.Fatalf("%+v is held, want two aggregates: %v", n, err)
	}
	for i, r := range bad {
		if got, err := projections.RetryPoison(ctx, db, sourceOf(w.log), r.Aggregate); err != nil || got.Applied != 0 || got.Err == nil {
			t.Fatalf("retried too early: %+v, %v", got, err)
		}
		exec(t, db, fmt.Sprintf("alter table accession.event drop constraint refused%d", i))
		if got, err := projections.RetryPoison(ctx, db, sourceOf(w.log), r.Aggregate); err != nil || got.Waiting != 0 || got.Err != nil {
			t.Fatalf("retried: %+v, %v", got, err)
		}
	}
	w.compare(db)
}

// TestPoisonIsTriedAgain: an event that PostgreSQL refuses once is not poison.
func TestPoisonIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := history(t, 23, 200)
	db := projtest.DB(t)
	faulty := &faultyDB{DB: db, left: 6, err: &pgconn.PgError{Code: "22000", Message: "once"}}
	cfg := config(faulty, w.log)
	cfg.RetryDelay = time.Microsecond
	if err := run(t, cfg); err != nil || !faulty.struck() {
		t.Fatal(err, faulty.struck())
	}
	if n := count(t, db, "select count(*) from accession.poison_event"); n != 0 {
		t.Errorf("%d events are held", n)
	}
	w.compare(db)
}

// TestPoisonIsNoExcuse: what is wrong with the database, and not with an event,
// stops the projector and holds nothing.
func TestPoisonIsNoExcuse(t *testing.T) {
	t.Parallel()
	w := history(t, 24, 100)
	db := projtest.DB(t)
	exec(t, db, "alter table accession.job drop column callback")
	var pg *pgconn.PgError
	if err := run(t, config(db, w.log)); !errors.As(err, &pg) {
		t.Fatalf("got %v", err)
	}
	if n := count(t, db, "select count(*) from accession.poison_event"); n != 0 {
		t.Errorf("%d events are held", n)
	}
}

// TestRetryBesideTheProjector: a projector that runs goes on with an aggregate
// that somebody else has freed.
func TestRetryBesideTheProjector(t *testing.T) {
	t.Parallel()
	w := history(t, 25, 600)
	db, ctx := projtest.DB(t), context.Background()
	at := w.middle(domain.KindJob)
	freed := make(chan struct{})
	cfg := config(db, w.log)
	cfg.MaxBatch, cfg.RetryDelay = 10, time.Microsecond
	cfg.Source = func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
		return func(yield func(domain.Recorded, error) bool) {
			for r, err := range spoiled(w.log, at)(ctx, from) {
				if r.Seq == uint64(at+2) {
					<-freed
				}
				if !yield(r, err) {
					return
				}
			}
		}
	}
	cfg.Held = func(*projections.EventError) {
		defer close(freed)
		if got, err := projections.RetryPoison(ctx, db, sourceOf(w.log), w.log[at].Aggregate); err != nil || got.Applied != 1 {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if err := run(t, cfg); err != nil {
		t.Fatal(err)
	}
	w.compare(db)
}

// TestRetryKeepsToTheRules: rows of this program's rules do not come among those of
// another's, and after that nothing is lost.
func TestRetryKeepsToTheRules(t *testing.T) {
	t.Parallel()
	w := history(t, 26, 600)
	db, ctx := projtest.DB(t), context.Background()
	at := w.middle(domain.KindJob)
	cfg := config(db, w.log)
	cfg.Source, cfg.RetryDelay = spoiled(w.log, at), time.Microsecond
	if err := run(t, cfg); err != nil {
		t.Fatal(err)
	}
	exec(t, db, fmt.Sprintf("update accession.checkpoint set meaning = %d", projections.Version-1))
	var other *projections.VersionError
	if got, err := projections.RetryPoison(ctx, db, sourceOf(w.log), w.log[at].Aggregate); !errors.As(err, &other) || other.Tables != projections.Version-1 || got.Applied != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if n, err := query.CountPoison(ctx, db); err != nil || n.Events != int64(w.after(at)) {
		t.Fatalf("%+v is held, want %d events: %v", n, w.after(at), err)
	}
	exec(t, db, fmt.Sprintf("update accession.checkpoint set meaning = %d", projections.Version))
	if got, err := projections.RetryPoison(ctx, db, sourceOf(w.log), w.log[at].Aggregate); err != nil || got.Waiting != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	w.compare(db)
}
