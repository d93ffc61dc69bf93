package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

var claimTests = tests{
	"order":                 testOrder,
	"batch order":           testBatchOrder,
	"one gets it":           testOneGetsIt,
	"given":                 testClaimGiven,
	"keep":                  testKeepClaim,
	"keep of a cleaned job": testKeepOfCleaned,
	"wakes up":              testWakesUp,
	"context ends":          testClaimContext,
	"reprioritised":         testReprioritised,
	"cleaned":               testCleanedNotHandedOut,
	"delay":                 testReleaseDelay,
	"attempts":              testAttempts,
	"confirmed":             testConfirm,
	"notice":                testNotice,
	"news missed":           testNewsMissed,
	"paused":                testPaused,
	"pause unheard of":      testPauseUnheard,
	"as it is now":          testClaimedAsItIs,
	"pause under work":      testPauseUnderWork,
	"hold among a thousand": testHoldAmongThousand,
	"expired":               testExpired,
	"expired at the queue":  testExpiredAtQueue,
	"expired alone":         testExpiredAlone,
	"late after another":    testLateAfterAnother,
	"released by the first": testReleasedByFirst,
	"ended by its commit":   testEndedByCommit,
	"claim of another":      testClaimOfAnother,
}

// next claims the next job in a state.
func (k *Kit) next(state domain.JobState) (*eventstore.Claim, eventstore.Loaded[domain.Job]) {
	k.Helper()
	c, at, err := k.Store.NextJob(k.Context(), state, nil)
	if err != nil {
		k.Fatal(err)
	}
	if c.Aggregate != at.State.ID.Aggregate() || c.ID == "" || c.Worker == "" || c.Lost == nil || at.State.State != state {
		k.Fatalf("claimed %+v: %s", c, text(at))
	}
	return c, at
}

func (k *Kit) release(c *eventstore.Claim) {
	k.Helper()
	if err := k.Store.Release(k.Context(), c, 0); err != nil {
		k.Fatal(err)
	}
}

// locked fails the test if the job can be claimed.
func (k *Kit) locked(id domain.JobID) {
	k.Helper()
	_, _, err := k.Store.ClaimJob(k.Context(), id)
	k.WantErr(err, eventstore.ErrLocked)
}

func testOrder(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	_, jobs := k.Started(50, 5, 0, 5, 99, 10, 9)
	var got []domain.JobID
	for range jobs {
		_, at := k.next(domain.JobPending)
		got = append(got, at.State.ID)
	}
	if want := []domain.JobID{jobs[2], jobs[1], jobs[3], jobs[6], jobs[5], jobs[0], jobs[4]}; !slices.Equal(got, want) {
		t.Errorf("handed out %v, want %v", got, want)
	}
}

func testBatchOrder(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	want := []domain.BatchID{k.Submit(), k.Submit(), k.Submit()}
	k.Started(5) // in another state
	for _, id := range want {
		c, at, err := k.Store.NextBatch(t.Context(), domain.BatchPending, nil)
		if err != nil || at.State.ID != id || c.Aggregate != id.Aggregate() {
			t.Fatalf("next is %s (%v), want %s", at.State.ID, err, id)
		}
	}
}

// testOneGetsIt: among many workers of two sessions, one claims each job.
// Shows: P5
func testOneGetsIt(t *testing.T, env Env) {
	first := NewKit(t, env.Open(t))
	kits := []*Kit{first, NewKit(t, env.Open(t))}
	_, jobs := first.Started(slices.Repeat([]int{5}, 24)...)
	ctx, done := context.WithCancel(t.Context())
	defer done()
	var mu sync.Mutex
	taken := map[domain.JobID]string{}
	var all sync.WaitGroup
	for _, k := range kits {
		for range 4 {
			all.Go(func() {
				for {
					c, at, err := k.Store.NextJob(ctx, domain.JobPending, nil)
					if err != nil {
						if !errors.Is(err, context.Canceled) {
							t.Error(err)
						}
						return
					}
					mu.Lock()
					if by := taken[at.State.ID]; by != "" {
						t.Errorf("%s was given to %s and %s", at.State.ID, by, c.ID)
					}
					taken[at.State.ID] = c.ID
					if len(taken) == len(jobs) {
						done()
					}
					mu.Unlock()
				}
			})
		}
	}
	all.Wait()
	if len(taken) != len(jobs) {
		t.Errorf("%d of %d jobs were handed out", len(taken), len(jobs))
	}
	ids := map[string]bool{}
	for _, id := range taken {
		ids[id] = true
	}
	if len(ids) != len(taken) {
		t.Error("two claims have the same id")
	}
}

func testClaimGiven(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	id, jobs := k.Started(5)
	c, at, err := k.Store.ClaimJob(t.Context(), jobs[0])
	if err != nil || text(at) != text(k.Job(jobs[0])) {
		t.Fatalf("%s, %v", text(at), err)
	}
	k.locked(jobs[0])
	other.locked(jobs[0])
	k.WantErr(k.Store.Confirm(t.Context(), c), nil)
	k.DoJob(jobs[0], domain.AcceptJob{}, Under(c, true)) // those that were refused took nothing away
	k.release(c)
	if c, _, err = other.Store.ClaimJob(t.Context(), jobs[0]); err != nil {
		t.Fatal(err)
	}
	other.release(c)
	bc, bat, err := other.Store.ClaimBatch(t.Context(), id)
	if err != nil || text(bat) != text(k.Batch(id)) {
		t.Fatalf("%s, %v", text(bat), err)
	}
	for _, s := range []Store{k.Store, other.Store} {
		_, _, err := s.ClaimBatch(t.Context(), id)
		k.WantErr(err, eventstore.ErrLocked)
	}
	other.release(bc)
	if _, _, err := k.Store.ClaimBatch(t.Context(), id); err != nil {
		t.Error(err)
	}
}

func testKeepClaim(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	_, jobs := k.Started(5)
	c, _ := k.next(domain.JobPending)
	k.DoJob(jobs[0], domain.AcceptJob{}, Under(c, true))
	other.locked(jobs[0])
	k.never("a job is handed out while its claim is kept", func(ctx context.Context) error {
		_, _, err := k.Store.NextJob(ctx, domain.JobEstimating, nil)
		return err
	})
	k.DoJob(jobs[0], domain.EstimateJob{Priority: 5}, Under(c, false))
	if _, at := other.next(domain.JobProvisioning); at.State.ID != jobs[0] {
		t.Errorf("%s is next", at.State.ID)
	}
}

// testKeepOfCleaned: a claim that was kept when its job was cleaned up is given back like
// any other, and the batch can go.
func testKeepOfCleaned(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	_, jobs := k.Started(5)
	k.Walk(jobs[0], domain.JobCompleted)
	c, _ := k.next(domain.JobCompleted)
	k.DoJob(jobs[0], domain.CleanJob{}, Under(c, true))
	if locked, err := k.Store.Locked(t.Context(), c.Aggregate); err != nil || len(locked) != 1 {
		t.Fatalf("locked while the claim is kept: %v, %v", locked, err)
	}
	k.release(c)
	if locked, err := k.Store.Locked(t.Context(), c.Aggregate); err != nil || len(locked) != 0 {
		t.Errorf("locked after the release: %v, %v", locked, err)
	}
}

// testWakesUp: those who wait get work when it comes, from whichever session.
func testWakesUp(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	type got struct {
		id  string
		err error
	}
	jobs, batches := make(chan got, 1), make(chan got, 1)
	go func() {
		_, at, err := k.Store.NextJob(t.Context(), domain.JobDownloading, nil)
		jobs <- got{string(at.State.ID), err}
	}()
	go func() {
		_, at, err := k.Store.NextBatch(t.Context(), domain.BatchProcessing, nil)
		batches <- got{string(at.State.ID), err}
	}()
	batch, ids := other.Started(5)
	other.Walk(ids[0], domain.JobDownloading)
	if g := <-jobs; g.err != nil || g.id != string(ids[0]) {
		t.Errorf("job %s, %v", g.id, g.err)
	}
	if g := <-batches; g.err != nil || g.id != string(batch) {
		t.Errorf("batch %s, %v", g.id, g.err)
	}
}

func testClaimContext(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { _, _, err := k.Store.NextJob(ctx, domain.JobPending, nil); ended <- err }()
	go func() { _, _, err := k.Store.NextBatch(ctx, domain.BatchPending, nil); ended <- err }()
	cancel()
	for range 2 {
		k.WantErr(<-ended, context.Canceled)
	}
}

func testReprioritised(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	_, jobs := k.Started(5, 5, 5)
	c, _ := k.next(domain.JobPending) // this session knows the queue
	k.release(c)
	k.DoJob(jobs[2], domain.ReprioritiseJob{Priority: 1}, Operator())
	if _, at := k.next(domain.JobPending); at.State.ID != jobs[2] || at.State.Priority != 1 {
		t.Errorf("next is %s", text(at))
	}
	if _, at := other.next(domain.JobPending); at.State.ID != jobs[0] {
		t.Errorf("next is %s", text(at))
	}
}

func testCleanedNotHandedOut(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	_, jobs := k.Started(5, 5)
	for _, j := range jobs {
		k.Walk(j, domain.JobCompleted)
	}
	c, at := k.next(domain.JobCompleted)
	k.DoJob(at.State.ID, domain.CleanJob{}, Under(c, false))
	if _, at := k.next(domain.JobCompleted); at.State.ID != jobs[1] || at.State.Cleaned {
		t.Errorf("next is %s", text(at))
	}
}

// testReleaseDelay: a job given back for a while lets others pass here, and comes
// back.
func testReleaseDelay(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	_, jobs := k.Started(1, 5)
	c, at := k.next(domain.JobPending)
	if at.State.ID != jobs[0] {
		t.Fatalf("next is %s", at.State.ID)
	}
	if err := k.Store.Release(t.Context(), c, time.Hour); err != nil {
		t.Fatal(err)
	}
	c, at = k.next(domain.JobPending)
	if at.State.ID != jobs[1] {
		t.Errorf("the job given back for an hour is handed out: %s", at.State.ID)
	}
	if err := k.Store.Release(t.Context(), c, 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if _, at = k.next(domain.JobPending); at.State.ID != jobs[1] {
		t.Errorf("next is %s", at.State.ID)
	}
}

// testAttempts: claims whose worker died are counted until something happens.
func testAttempts(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	_, jobs := k.Started(5)
	claim := func(k *Kit, want int) *eventstore.Claim {
		t.Helper()
		c, _, err := k.Store.ClaimJob(t.Context(), jobs[0])
		if err != nil {
			t.Fatal(err)
		}
		if c.Attempts != want {
			t.Errorf("claim number %d, want %d", c.Attempts, want)
		}
		return c
	}
	k.release(claim(k, 1))
	claim(k, 1) // was handed back, nobody died
	env.Expire(t, k.Store)
	other.release(claim(other, 2))
	c := claim(other, 1)
	other.DoJob(jobs[0], domain.AcceptJob{}, Under(c, false))
	claim(k, 1)
	env.Expire(t, k.Store)
	claim(other, 2)
}

// testConfirm: a lost claim is not confirmed, whether or not another worker has the job.
// Shows: P5
func testConfirm(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	k.Started(5)
	mine, _ := k.next(domain.JobPending)
	k.WantErr(k.Store.Confirm(t.Context(), mine), nil)
	env.Expire(t, k.Store)
	k.WantErr(k.Store.Confirm(t.Context(), mine), eventstore.ErrFenced)
	theirs, _ := other.next(domain.JobPending)
	k.WantErr(k.Store.Confirm(t.Context(), mine), eventstore.ErrFenced)
	k.WantErr(other.Store.Confirm(t.Context(), theirs), nil)
	other.release(theirs)
	k.WantErr(other.Store.Confirm(t.Context(), theirs), eventstore.ErrFenced)
}

// testNotice: events from the log, new, old or repeated, cause no double claim.
func testNotice(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	_, jobs := other.Started(5, 5)
	var news []domain.Recorded
	tell := func() {
		for _, items := range other.Outbox() {
			for _, it := range items {
				news = append(news, it.Events...)
			}
		}
		for _, e := range news {
			k.Store.Observe(e)
		}
	}
	tell()
	c, at := k.next(domain.JobPending)
	tell()
	k.DoJob(at.State.ID, domain.AcceptJob{}, Under(c, false))
	tell()
	if _, at := k.next(domain.JobPending); at.State.ID != jobs[1] {
		t.Errorf("next is %s", at.State.ID)
	}
	if _, at := k.next(domain.JobEstimating); at.State.ID != jobs[0] {
		t.Errorf("next is %s", at.State.ID)
	}
	tell()
	for _, s := range []domain.JobState{domain.JobPending, domain.JobEstimating} {
		k.never("old news made a claimed job claimable", func(ctx context.Context) error {
			_, _, err := k.Store.NextJob(ctx, s, nil)
			return err
		})
	}
}
