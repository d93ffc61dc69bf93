//go:build !race

package zklive_test

import (
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

const pendingQueue = "/jobs/states/pending"

// backlog is a tree in whose first queue very many jobs wait.
type backlog struct {
	*env
	t     *testing.T
	first *zklive.Store
	kit   *storetest.Kit
}

// TestSixtyThousandWait: with the limit raised, so many jobs may wait that their names
// fill more than the mebibyte that other clients take at most. A process that comes
// new to them finds its work in order, a claim asks no more than in a short queue, and
// an overview counts without listing; the limit is what it was set to.
// Shows: P8
func TestSixtyThousandWait(t *testing.T) {
	t.Parallel()
	const behind, some = 60_000, 50
	b := &backlog{env: &env{root: "/test-" + uuid.NewString()}, t: t}
	removedAfter(t, b.root)
	b.first = b.open(t, zklive.Config{QueueLimit: 2 * behind, GroupCommit: true, SessionTimeout: 20 * time.Second})
	b.kit = storetest.NewKit(t, b.first)
	_, urgent := b.kit.Started(slices.Repeat([]int{5}, 2*some)...)
	few, _ := b.asks(urgent[:some])
	began := time.Now()
	after := func() time.Duration { return time.Since(began).Round(time.Millisecond) }
	jobs := b.crowd(behind)
	t.Logf("%d jobs are made after %v", behind, after())

	many, lists := b.asks(urgent[some:])
	t.Logf("%.1f requests a job with few, %.1f with many behind; the queue was listed %d times", few, many, lists)
	if lists > 2 || many > few+3 {
		t.Errorf("a claim asks more where many wait: %.1f requests, with few %.1f; %d listings", many, few, lists)
	}
	b.counts(behind)
	b.share(jobs[:10*some])
	b.limited()
	t.Logf("all is asked after %v", after())
	b.clear(jobs)
	t.Logf("they are removed after %v", after())
	if view, err := b.first.Overview(t.Context()); err != nil || view.Queues[domain.JobPending] != 1 {
		t.Errorf("%d are pending in the end, want 1 (%v)", view.Queues[domain.JobPending], err)
	}
}

// process is a store that comes new, and the proxy that counts what it asks.
func (b *backlog) process() (*zklive.Store, *loser) {
	b.t.Helper()
	l := newLoser(b.t, b.root)
	s, err := zklive.Open(b.t.Context(), zklive.Config{Servers: l.addresses(), Root: b.root, SessionTimeout: 20 * time.Second})
	if err != nil {
		b.t.Fatal(err)
	}
	return s, l
}

// asks takes jobs as a new process does, which must be these, and tells what one took.
func (b *backlog) asks(jobs []domain.JobID) (each float64, lists int) {
	b.t.Helper()
	s, l := b.process()
	defer func() { _ = s.Close() }()
	h, before := handlerOf(s), 0
	for i, want := range jobs {
		c, at, err := s.NextJob(b.t.Context(), domain.JobPending, nil)
		if err != nil || at.State.ID != want {
			b.t.Fatalf("got %s (%v), want %s", at.State.ID, err, want)
		}
		if i == 0 {
			before, _ = l.counted(pendingQueue)
		}
		if _, err := h.Job(b.t.Context(), want, domain.AcceptJob{}, storetest.Under(c, false)); err != nil {
			b.t.Fatal(err)
		}
	}
	after, lists := l.counted(pendingQueue)
	return float64(after-before) / float64(len(jobs)-1), lists
}

// crowd makes n less urgent jobs, in a few batches at once.
func (b *backlog) crowd(n int) []domain.Job {
	b.t.Helper()
	const batches = 6
	rows, jobs := n/batches, make([]domain.Job, n)
	g, ctx := errgroup.WithContext(b.t.Context())
	claims := make([]*eventstore.Claim, batches)
	for i := range batches {
		id := b.kit.Submit()
		c, _, err := b.first.ClaimBatch(ctx, id)
		if err != nil {
			b.t.Fatal(err)
		}
		claims[i] = c
		list := b.kit.List(c, rows)
		g.Go(func() error {
			for row := 0; row < rows; row += eventstore.MaxJobsPerCommit {
				var cmds []domain.CreateJob
				for at := row; at < min(row+eventstore.MaxJobsPerCommit, rows); at++ {
					cmds = append(cmds, storetest.Create(id, at, 90))
				}
				events, err := b.kit.Handler.CreateJobs(ctx, list.FirstJID, row, cmds, storetest.Under(c, true))
				for at, e := range events {
					job, err := domain.EvolveJob(domain.Job{ID: list.FirstJID.Plus(row + at)}, e)
					if err != nil {
						return err
					}
					jobs[i*rows+row+at] = job
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		b.t.Fatal(err)
	}
	for _, c := range claims {
		b.kit.DoBatch(domain.BatchID(c.Aggregate.ID), domain.StartBatch{}, storetest.Under(c, false))
	}
	return jobs
}

// counts fails the test unless an overview has so many pending, and lists no queue.
func (b *backlog) counts(n int) {
	b.t.Helper()
	s, l := b.process()
	defer func() { _ = s.Close() }()
	before, _ := l.counted(pendingQueue)
	view, err := s.Overview(b.t.Context())
	after, lists := l.counted(pendingQueue)
	if err != nil || view.Queues[domain.JobPending] != n {
		b.t.Errorf("%d are pending, want %d (%v)", view.Queues[domain.JobPending], n, err)
	}
	if lists > 0 || after-before > 100 {
		b.t.Errorf("an overview asked %d times, and listed the queue %d times", after-before, lists)
	}
}

// share lets two processes take as many jobs as these at once: they take these, and
// each of them once.
func (b *backlog) share(jobs []domain.Job) {
	b.t.Helper()
	var left atomic.Int64
	left.Store(int64(len(jobs)))
	var mu sync.Mutex
	var took []domain.JobID
	var releases []func() error
	g, ctx := errgroup.WithContext(b.t.Context())
	for range 2 {
		s := b.open(b.t, zklive.Config{SessionTimeout: 20 * time.Second, GroupCommit: true})
		for range 4 {
			g.Go(func() error {
				for left.Add(-1) >= 0 {
					c, at, err := s.NextJob(ctx, domain.JobPending, nil)
					if err != nil {
						return err
					}
					mu.Lock()
					took = append(took, at.State.ID)
					releases = append(releases, func() error { return s.Release(b.t.Context(), c, 0) })
					mu.Unlock()
				}
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		b.t.Fatal(err)
	}
	slices.Sort(took)
	for i, id := range took {
		if id != jobs[i].ID {
			b.t.Fatalf("%d of %d taken is %s, want %s", i, len(took), id, jobs[i].ID)
		}
	}
	var back errgroup.Group
	back.SetLimit(8)
	for _, release := range releases {
		back.Go(release)
	}
	if err := back.Wait(); err != nil {
		b.t.Fatal(err)
	}
}

// limited fails the test unless the limit is what a process was started with.
func (b *backlog) limited() {
	b.t.Helper()
	b.kit.Started(5) // there is room
	narrow := storetest.NewKit(b.t, b.open(b.t, zklive.Config{}))
	id := narrow.Submit()
	c, _, err := narrow.Store.ClaimBatch(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	list := narrow.List(c, 1)
	_, err = narrow.Handler.CreateJobs(b.t.Context(), list.FirstJID, 0, []domain.CreateJob{storetest.Create(id, 0, 5)}, storetest.Under(c, true))
	narrow.WantErr(err, eventstore.ErrFull)
}

// clear removes the nodes of jobs, as they are drawn, many in a multi: the end of the
// test would ask each for what is below it.
func (b *backlog) clear(jobs []domain.Job) {
	b.t.Helper()
	conn, _, err := zk.Connect([]string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, 20*time.Second, zk.WithLogInfo(false))
	if err != nil {
		b.t.Fatal(err)
	}
	defer conn.Close()
	var g errgroup.Group
	g.SetLimit(4)
	for part := range slices.Chunk(jobs, 90) {
		g.Go(func() error {
			var ops []any
			for _, j := range part {
				var nodes []string
				for node := range b.first.ExpectedJob(j, eventstore.Observed{}) {
					nodes = append(nodes, node)
				}
				slices.SortFunc(nodes, func(a, b string) int { return strings.Compare(b, a) })
				for _, node := range nodes {
					ops = append(ops, &zk.DeleteRequest{Path: b.root + node, Version: -1})
				}
			}
			_, err := conn.Multi(ops...)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		b.t.Error(err)
	}
}
