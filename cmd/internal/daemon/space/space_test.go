package space

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/memory"
)

const tides = "tides" // a profile

// promises are those in the live state, as a table.
type promises struct {
	mu    sync.Mutex
	of    map[domain.JobID]eventstore.Promise
	files []eventstore.FilePromise
	fails error
	looks int
}

func (p *promises) PromiseFile(_ context.Context, f eventstore.FilePromise) (func(), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := func(other eventstore.FilePromise) bool { return other.File == f.File }
	if slices.ContainsFunc(p.files, of) {
		return nil, eventstore.ErrLocked
	}
	p.files = append(p.files, f)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.files = slices.DeleteFunc(p.files, of)
	}, nil
}

func (p *promises) FilePromises(context.Context) ([]eventstore.FilePromise, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.files), p.fails
}

func (p *promises) LeadSpace(ctx context.Context) (context.Context, eventstore.Token, func(), error) {
	return ctx, 1, func() {}, nil
}

func (p *promises) Promised(context.Context) (ids []domain.JobID, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looks++
	for id := range p.of {
		ids = append(ids, id)
	}
	return ids, p.fails
}

func (p *promises) Promise(_ context.Context, id domain.JobID) (eventstore.Promise, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if is, there := p.of[id]; there {
		return is, p.fails
	}
	return eventstore.Promise{}, eventstore.ErrNotFound
}

// account is an Account over such a table, with 100 bytes free of which 10 stay.
type account struct {
	*testing.T
	*Account
	in    *promises
	clock *memory.ManualClock
}

func newAccount(t *testing.T) *account {
	t.Helper()
	a := &account{T: t, in: &promises{of: map[domain.JobID]eventstore.Promise{}}, clock: memory.NewManualClock(time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC))}
	dirOf := func(profile string) string { return map[string]string{"elsewhere": "elsewhere"}[profile] }
	a.Account = New(a.in, slog.New(slog.DiscardHandler), a.clock.Now, dirOf)
	a.leads()
	return a
}

func (a *account) leads() {
	a.Helper()
	if _, _, err := a.Lead(a.Context()); err != nil {
		a.Fatal(err)
	}
}

// asks lets a job of version 5 ask for space; what it is promised is written.
func (a *account) asks(n int64, dir string, bytes int64, want bool) {
	a.Helper()
	id := domain.NewJobID(n)
	got, err := a.Ask(a.Context(), domain.Job{ID: id, SpaceNeeded: bytes, Version: 5}, dir, 10, func() (int64, error) { return 100, nil })
	if err != nil || got.OK != want || got.Term == nil {
		a.Errorf("%s asks for %d: %+v, %v", id, bytes, got, err)
	}
	if got.OK {
		a.in.promise(n, map[string]string{"": tides, "elsewhere": "elsewhere"}[dir], bytes, 6)
		a.PromiseWritten(id)
	}
}

func (p *promises) promise(n int64, profile string, bytes, version int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of[domain.NewJobID(n)] = eventstore.Promise{Bytes: bytes, Profile: profile, Version: version}
}

func (p *promises) end(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.of, domain.NewJobID(n))
}

func moveOf(n, version int64, from, to domain.JobState) domain.Recorded {
	return domain.Recorded{Event: domain.Event{Aggregate: domain.NewJobID(n).Aggregate(), Version: version, Data: &domain.JobMoved{JobMove: domain.JobMove{From: from, To: to}}}}
}

// What was promised to one job is not promised to another.
func TestSpace(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.asks(1, "", 60, true)
	a.asks(2, "", 31, false)
	a.asks(2, "", 30, true)
	a.asks(3, "", 1, false)
	a.asks(3, "", 0, true)
	a.asks(3, "elsewhere", 90, true)
	a.asks(1, "", 61, false) // its own earlier promise does not count against it, 2's does
	a.asks(1, "", 60, true)
	a.in.end(1)
	a.Free(domain.NewJobID(1))
	a.asks(4, "", 60, true)
}

// While one job's free space is looked for, others go on; a promise that ends
// meanwhile still counts.
func TestSpaceIsLookedForBesideOthers(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	for _, c := range []struct {
		bytes int64
		ok    bool
	}{{31, false}, {30, true}} {
		a.asks(1, "", 60, true)
		got, err := a.Ask(t.Context(), domain.Job{ID: domain.NewJobID(2), SpaceNeeded: c.bytes, Version: 5}, "", 10, func() (int64, error) {
			a.in.end(1)
			a.Free(domain.NewJobID(1))
			return 100, nil
		})
		if err != nil || got.OK != c.ok {
			t.Errorf("%d bytes: %+v, %v", c.bytes, got, err)
		}
	}
}

// Who leads next knows what was promised before, in each directory, and goes on.
func TestSpaceIsCountedByTheNextLeader(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.asks(1, "", 60, true)
	a.asks(2, "elsewhere", 90, true)
	a.in.promise(3, "a profile that is gone", 30, 1)
	a.promised[domain.NewJobID(9)] = promise{bytes: 90} // of an earlier lead
	a.leads()
	a.asks(4, "", 1, false)
	a.asks(4, "elsewhere", 1, false)
	a.in.end(1)
	a.leads()
	a.asks(4, "", 60, true)
}

// What the log tells of other processes counts at once; what it does not tell, after
// a while.
func TestSpaceFollowsOtherProcesses(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.in.promise(1, tides, 60, 7)
	a.Notice(moveOf(1, 7, domain.JobFailed, domain.JobDownloading)) // J16
	a.asks(2, "", 31, false)
	a.Notice(moveOf(1, 6, domain.JobDownloading, domain.JobFailed)) // late news of what was before
	a.asks(2, "", 31, false)
	a.in.end(1)
	a.Notice(moveOf(1, 8, domain.JobDownloading, domain.JobProcessing)) // J8
	a.asks(2, "", 31, true)

	a.in.promise(3, tides, 59, 7)
	a.clock.Advance(recountAfter)
	a.asks(4, "", 1, false) // nobody told of 3
	a.in.end(3)
	a.asks(4, "", 1, false)
	looks := a.in.looks
	a.asks(4, "", 1, false)
	if a.in.looks != looks {
		t.Error("who waits has the promises listed each time")
	}
	a.clock.Advance(recountEvery)
	a.asks(4, "", 1, true)
}

// A promise whose write is on its way is not taken for one that has ended.
func TestSpaceCountsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	id := domain.NewJobID(1)
	if got, err := a.Ask(t.Context(), domain.Job{ID: id, SpaceNeeded: 60}, "", 10, func() (int64, error) { return 100, nil }); err != nil || !got.OK {
		t.Fatalf("%+v %v", got, err)
	}
	a.clock.Advance(recountAfter)
	a.asks(2, "", 31, false)
	a.PromiseWritten(id) // it was refused
	a.clock.Advance(recountAfter)
	a.asks(2, "", 31, true)
}

// Nothing is promised while it is unknown what is promised already.
func TestSpaceThatCannotBeCounted(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	away := errors.New("away")
	ask := func() error {
		got, err := a.Ask(t.Context(), domain.Job{ID: domain.NewJobID(1)}, "", 10, func() (int64, error) { return 100, nil })
		if got.OK {
			t.Error("it was promised")
		}
		return err
	}
	a.in.promise(2, tides, 90, 7)
	a.Notice(moveOf(2, 7, domain.JobFailed, domain.JobDownloading))
	a.in.fails = away
	if err := ask(); !errors.Is(err, away) {
		t.Error(err)
	}
	a.in.fails = nil
	a.asks(1, "", 1, false)
	a.in.fails = away
	if _, _, err := a.Lead(t.Context()); !errors.Is(err, away) {
		t.Error(err)
	}
	a.in.fails = eventstore.ErrBroken // one that cannot be read stops nobody
	a.Notice(moveOf(3, 7, domain.JobFailed, domain.JobDownloading))
	a.in.promise(3, tides, 90, 7)
	if err := a.read(t.Context()); err != nil {
		t.Error(err)
	}
}
