//go:build !race

package zklive_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/eventstore/zklive"
	zktree "github.com/accession-ingest/accession/internal/testkit/tree"
)

// patient is a store whose claims are asked for until they are had: an unknown
// outcome is an error of a claim.
type patient struct{ *zklive.Store }

func (p patient) ClaimJob(ctx context.Context, id domain.JobID) (*eventstore.Claim, eventstore.Loaded[domain.Job], error) {
	for {
		c, at, err := p.Store.ClaimJob(ctx, id)
		if err == nil || ctx.Err() != nil {
			return c, at, err
		}
	}
}

func (p patient) ClaimBatch(ctx context.Context, id domain.BatchID) (*eventstore.Claim, eventstore.Loaded[domain.Batch], error) {
	for {
		c, at, err := p.Store.ClaimBatch(ctx, id)
		if err == nil || ctx.Err() != nil {
			return c, at, err
		}
	}
}

// walked is what a walk left.
type walked struct {
	tree   map[string]zktree.Node
	events map[string][]string // by aggregate
	lost   []string            // kinds of which all fates were met, "restoring: " before those of a restoration
}

// walker walks.
type walker struct {
	*testing.T
	w     *env
	loser *loser
	store *zklive.Store
	kit   *storetest.Kit
}

func newWalker(t *testing.T, restoring bool, fates ...fate) *walker {
	t.Helper()
	w := &env{root: "/test-" + uuid.NewString()}
	k := &walker{T: t, w: w, loser: newLoser(t, w.root, fates...)}
	k.loser.spares("/ids/") // a number that nobody uses shifts all names that follow
	var err error
	k.store, err = zklive.Open(t.Context(), zklive.Config{Servers: k.loser.addresses(), Root: w.root, SessionTimeout: 20 * time.Second,
		Shards: 2, BucketSize: 30, Grace: 200 * time.Millisecond, GroupCommit: true, Restoring: restoring})
	k.must(err)
	t.Cleanup(func() { _ = k.store.Close() })
	k.kit = storetest.NewKit(t, patient{k.store})
	return k
}

func (k *walker) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

// walk does all there is.
func walk(t *testing.T, fates ...fate) walked {
	t.Helper()
	k := newWalker(t, false, fates...)
	k.kit.Path(func(string) {})
	k.claims()
	k.permits()
	k.queueSettings()
	k.rings()
	k.queries()
	k.entries()
	k.names()
	k.together()
	k.mends()
	k.removes()
	out := walked{tree: k.left(), events: k.told()}
	k.sends()
	k.loser.spares("")
	epoch := must(k.store.NewEpoch(t.Context()))(k)
	if now := must(k.store.Overview(t.Context()))(k).Epoch; now != epoch || now < 2 {
		t.Errorf("epoch %d, said to be %d", now, epoch)
	}
	first, err := k.store.ReserveJobIDs(t.Context(), 3)
	k.must(err)
	next, err := k.store.ReserveJobIDs(t.Context(), 1)
	k.must(err)
	if next < first.Plus(3) {
		t.Errorf("%s and %s were given twice", first, next)
	}
	high := next.Number() + 100
	want := eventstore.Numbers{Batch: high, Job: high, Query: high, Entry: high}
	k.must(k.store.RaiseIDs(t.Context(), want))
	k.must(k.store.RaiseHighWater(t.Context(), 1))
	if next, err := k.store.NextIDs(t.Context()); err != nil || next != want {
		t.Errorf("the next ids are raised to %+v (%v), want %d", next, err, high)
	}
	remove(t, k.w.root)
	out.lost = append(k.loser.met(), k.restores(fates...)...)
	return out
}

// claims are taken, confirmed, given back, and end with a move, by hand-over and
// without.
func (k *walker) claims() {
	_, jobs := k.kit.Started(5, 5)
	ctx := k.Context()
	for _, j := range jobs {
		c, _, err := k.kit.Store.ClaimJob(ctx, j)
		k.must(err)
		k.must(k.store.Confirm(ctx, c))
		k.must(k.store.Release(ctx, c, 0))
		k.kit.Walk(j, domain.JobEstimating)
	}
	for i, next := range []domain.JobState{"", domain.JobProvisioning} {
		c, at, err := k.kit.Store.ClaimJob(ctx, jobs[i])
		k.must(err)
		o := storetest.Under(c, false)
		o.Next = next
		r := k.kit.DoJob(jobs[i], storetest.Step(at.State), o)
		if i > 0 {
			k.kit.DoJob(jobs[i], domain.ProvisionJob{}, storetest.Under(r.Claim, false))
		} else {
			k.kit.DoJob(jobs[i], domain.ProvisionJob{}, storetest.Operator())
		}
	}
	held, err := k.store.Locked(ctx, jobs[0].Aggregate(), jobs[1].Aggregate())
	if err != nil || len(held) != 0 {
		k.Errorf("%v are still locked (%v)", held, err)
	}
	_, err = k.kit.Handler.NoteRestore(ctx, "tree", 1, 1, storetest.Operator())
	k.must(err)
}

// queueSettings of each kind are set, and one is removed.
func (k *walker) queueSettings() {
	three := 3
	k.kit.SetQueue(domain.SettingDepositQueue, "query", domain.SettingValue{DepositQueue: &domain.DepositQueue{Suspended: true}})
	k.kit.SetQueue(domain.SettingProcessor, "query-films", domain.SettingValue{Processor: &domain.Processor{MaxSize: 9}})
	name := domain.UserLimitName("query", "a.b")
	k.kit.SetQueue(domain.SettingUserLimit, name, domain.SettingValue{UserLimit: &domain.UserLimit{Allocation: &three}})
	k.kit.SetQueue(domain.SettingDepositQueue, "query", domain.SettingValue{})
}

// rings: deposits join a queue, are grabbed, parked, released and reported, and what is
// damaged of the queue is repaired.
func (k *walker) rings() {
	r := storetest.NewRingKit(k.T, patient{k.store})
	ctx := k.Context()
	names := r.Deposits("ana1 ben1 ben2 cleo1")
	first := r.Grab().State.ID
	r.EndGrabbed(r.Grab())
	sync := must(k.store.ReserveBatchID(ctx))(k)
	r.DoBatch(sync, domain.SubmitBatch{Submission: storetest.Submission(), Synchronous: true}, storetest.Operator())
	claim, at, err := r.Store.NextBatch(ctx, eventstore.Synchronous, nil)
	k.must(err)
	r.EndGrabbed(eventstore.Result[domain.Batch]{Loaded: at, Claim: claim})
	for id, name := range names {
		if name == "cleo1" {
			why := domain.Reason{Class: domain.ClassWait, Code: domain.CodeParked, Message: "parked"}
			must(r.Handler.Park(ctx, id, why, storetest.Operator()))(k)
			r.DoBatch(id, domain.UnparkBatch{Reason: why}, storetest.Operator())
		}
	}
	conn, _, err := zk.Connect([]string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, 10*time.Second, zk.WithLogInfo(false))
	k.must(err)
	defer conn.Close()
	queue := k.w.root + "/queues/metadata"
	_, err = conn.Create(queue+"/names/dora", []byte("9"), 0, zk.WorldACL(zk.PermAll))
	k.must(err)
	_, err = conn.Set(queue+"/running/ana", []byte(`{"n":7}`), -1)
	k.must(err)
	unread := func(context.Context) (at eventstore.RingState, complete bool, err error) { return at, false, nil }
	k.must(k.store.RepairRing(ctx, "metadata", unread))
	if faults := must(k.store.InspectRing(ctx, "metadata", unread))(k); len(faults) > 0 {
		k.Errorf("repaired, and then %v", faults)
	}
	r.DoBatch(first, domain.FreeBatch{Reason: domain.Reason{Class: domain.ClassWait, Code: domain.CodeFreed, Message: "stuck"}}, storetest.Operator())
}

// queries: one loses what it asks, and is repaired.
func (k *walker) queries() {
	ctx, h := k.Context(), storetest.NewRingKit(k.T, patient{k.store}).Handler
	id := must(k.store.ReserveQueryID(ctx))(k)
	want := must(h.ReceiveQuery(ctx, id, lookup.Receive{Request: asked.Request{Submitter: "ana", ListURL: "store:queries/list.txt", Size: 9, Lines: 1}}, storetest.Operator()))(k).State
	conn, _, err := zk.Connect([]string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, 10*time.Second, zk.WithLogInfo(false))
	k.must(err)
	defer conn.Close()
	k.must(conn.Delete(k.w.root+"/queries/"+string(id)+"/request", -1))
	tickets := must(k.store.Survey(ctx))(k).QueryTickets[id]
	k.must(k.store.RepairQuery(ctx, want, must(k.store.InspectQuery(ctx, id, tickets...))(k)))
	if at := must(k.store.LoadQuery(ctx, id))(k); at.State.Request != want.Request {
		k.Errorf("repaired, and then %+v", at.State)
	}
}

// entries are requested, taken, passed over, and end.
func (k *walker) entries() {
	ctx := k.Context()
	for _, key := range []string{"a", "b"} {
		k.repairsEntry(k.kit.Request("maps", key, 100, key).State)
	}
	wants := compute.Wants{PassLimit: 1, Cached: func(g entry.Group) bool { return g.Group == "b" }}
	taken := must(k.kit.Handler.TakeEntry(ctx, wants, storetest.Under(nil, false)))(k)
	if taken.State.Work.Key != "b" {
		k.Errorf("took %+v", taken.State)
	}
	k.must(k.store.RunEntry(ctx, taken.Claim, taken.Loaded))
	must(k.kit.Handler.EndEntry(ctx, taken, compute.Complete{}, storetest.Under(nil, false)))(k)
	taken = must(k.kit.Handler.TakeEntry(ctx, wants, storetest.Under(nil, false)))(k)
	must(k.kit.Handler.EndEntry(ctx, taken, compute.Fail{Reason: storetest.Broken()}, storetest.Under(nil, false)))(k)
	must(k.kit.Handler.Entry(ctx, taken.State.ID, compute.Purge{}, storetest.Operator()))(k)
	k.leases()
}

// repairsEntry repairs an entry that has lost its key.
func (k *walker) repairsEntry(want compute.Entry) {
	ctx := k.Context()
	conn, _, err := zk.Connect([]string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, 10*time.Second, zk.WithLogInfo(false))
	k.must(err)
	defer conn.Close()
	k.must(conn.Delete(fmt.Sprintf("%s/compute/keys/%x", k.w.root, sha256.Sum256([]byte(want.Work.Key))), -1))
	k.must(k.store.RepairEntry(ctx, want, must(k.store.InspectEntry(ctx, want))(k)))
	if id := must(k.store.EntryOfKey(ctx, want.Work.Key))(k); id != want.ID {
		k.Errorf("the key of %s leads to %s", want.ID, id)
	}
}

// leases are renewed and become overdue.
func (k *walker) leases() {
	ctx, h := k.Context(), k.kit.Handler
	id := k.kit.Request("maps", "c", 100, "c").State.ID
	must(h.LeaseEntry(ctx, compute.Wants{}, eventstore.Lease{Worker: "them", SHA256: "ab", Timeout: time.Nanosecond, Command: eventstore.ClaimCommand + "c", Before: -1}, storetest.Under(nil, false)))(k)
	_, _, err := h.RenewLease(ctx, id, "ab", "half")
	k.must(err)
	for len(must(k.store.OrphanEntries(ctx))(k)) == 0 {
		must(h.Leases.EndOverdueLeases(ctx))(k)
	}
	must(h.Entry(ctx, id, compute.Return{Reason: domain.WorkerLost("them")}, storetest.Under(nil, false)))(k)
}

// permits are taken, and returned except one.
func (k *walker) permits() {
	take := func(most int) *eventstore.Permit {
		for {
			p, err := k.store.TakePermit(k.Context(), eventstore.PermitOf{Name: "example.org:443"}, most)
			if err == nil {
				return p
			}
			if k.Context().Err() != nil {
				k.Fatal(err)
			}
		}
	}
	k.store.ReturnPermit(take(1))
	if p := take(1); p.Number != 0 {
		k.Errorf("the permit is number %d", p.Number)
	}
	k.promisesToFile()
}

// promisesToFile promises space to a file, and ends that.
func (k *walker) promisesToFile() {
	for {
		end, err := k.store.PromiseFile(k.Context(), eventstore.FilePromise{File: domain.HashFile("https://example.org/", "a.txt"), Bytes: 5, Profile: storetest.Profile})
		if err == nil {
			end()
			break
		}
		if k.Context().Err() != nil {
			k.Fatal(err)
		}
	}
	for len(must(k.store.FilePromises(k.Context()))(k)) > 0 {
		if k.Context().Err() != nil {
			k.Fatal("the promise to a file does not end")
		}
	}
}

// names says of a job of which object it is.
func (k *walker) names() {
	_, jobs := k.kit.Started(5)
	k.kit.Walk(jobs[0], domain.JobProcessing)
	k.kit.DoJob(jobs[0], domain.IdentifyJob{Identifiers: domain.Identifiers{Primary: "ark:/1", ObjectKeys: []domain.ObjectKey{theObject}}}, storetest.Operator())
	k.kit.Walk(jobs[0], domain.JobNotify)
}

// together moves and claims many at the same moment, until several shared a multi.
func (k *walker) together() {
	_, jobs := k.kit.Started(slices.Repeat([]int{5}, 60)...)
	all := func(do func(j domain.JobID) error) {
		var g sync.WaitGroup
		for _, j := range jobs {
			g.Go(func() {
				if err := do(j); err != nil {
					k.Errorf("%s: %v", j, err)
				}
			})
		}
		g.Wait()
	}
	claimed := make([]*eventstore.Claim, len(jobs))
	all(func(j domain.JobID) error {
		c, _, err := k.kit.Store.ClaimJob(k.Context(), j)
		claimed[slices.Index(jobs, j)] = c
		return err
	})
	all(func(j domain.JobID) error { return k.store.Release(k.Context(), claimed[slices.Index(jobs, j)], 0) })
	all(func(j domain.JobID) error {
		_, err := k.kit.Handler.Job(k.Context(), j, domain.AcceptJob{}, storetest.Operator())
		return err
	})
}

// mends repairs a job whose priority is gone and whose lock is nobody's.
func (k *walker) mends() {
	_, jobs := k.kit.Started(5)
	id := jobs[0]
	conn, _, err := zk.Connect([]string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, 10*time.Second, zk.WithLogInfo(false))
	k.must(err)
	defer conn.Close()
	want := k.kit.Job(id).State
	_, err = conn.Create(k.w.root+"/jobs/"+string(id)+"/lock", []byte(`{"holder":"gone"}`), 0, zk.WorldACL(zk.PermAll))
	k.must(err)
	k.must(conn.Delete(k.w.root+"/jobs/"+string(id)+"/priority", -1))
	for {
		look, err := k.store.InspectJob(k.Context(), id, "/jobs/states/pending/"+want.QueueEntry(),
			"/batches/"+string(want.Configuration.BatchID)+"/states/batch-processing/"+string(id))
		k.must(err)
		if err := k.store.SeizeLock(k.Context(), &look); err != nil {
			k.kit.WantErr(err, eventstore.ErrLocked) // it is as it was not seen: look again
			continue
		}
		_, err = k.kit.Handler.RepairJob(k.Context(), want, look, nil, storetest.Operator())
		k.must(err)
		break
	}
}

// removes takes batches away: one that is deleted while a job is open, with its
// jobs, and those that were deleted or cleaned up before.
func (k *walker) removes() {
	id, jobs := k.kit.Started(5)
	k.kit.Fail(jobs[0], domain.JobDownloading)
	k.kit.Reported(id)
	k.kit.DoJob(jobs[0], domain.RequeueJob{}, storetest.Operator())
	k.kit.DoBatch(id, domain.DeleteBatch{}, storetest.Operator())
	for _, id := range must(k.store.Batches(k.Context()))(k) {
		if b := k.kit.Batch(id).State; b.State == domain.BatchDeleted {
			k.must(k.kit.Handler.FinishDeletion(k.Context(), id, storetest.Operator(), func(domain.Job) error { return nil }))
		}
	}
}

func must[T any](v T, err error) func(k *walker) T {
	return func(k *walker) T { k.Helper(); k.must(err); return v }
}

var changing = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z|[0-9a-f]{8}-[0-9a-f-]{27}|[A-Z2-7]{26}`)

// left gives the tree without the outbox and without times and chosen names.
func (k *walker) left() map[string]zktree.Node {
	k.Helper()
	all := k.w.nodes(k.T, "")
	for path, n := range all {
		if strings.HasPrefix(path, "/outbox/") || strings.HasPrefix(path, "/workers/") {
			delete(all, path)
			continue
		}
		n.Data = changing.ReplaceAllString(n.Data, "~")
		all[path] = n
	}
	return all
}

// told gives the events that wait in the outbox.
func (k *walker) told() map[string][]string {
	told := map[string][]string{}
	for _, items := range k.kit.Outbox() {
		for _, it := range items {
			for _, e := range it.Events {
				told[e.Aggregate.String()] = append(told[e.Aggregate.String()], strconv.FormatInt(e.Version, 10)+" "+string(e.Type))
			}
		}
	}
	return told
}

// sends leads each shard, marks it, and waits until what was sent is gone: of each shard
// the bucket that takes nodes stays, and the one before it when the mark is at its end.
func (k *walker) sends() {
	ctx := k.Context()
	for shard := range k.store.Shards() {
		lead, resign, err := k.store.Lead(ctx, shard)
		k.must(err)
		items := must(k.store.Read(lead, shard, eventstore.Offset{}, 100_000))(k)
		k.must(k.store.MoveMark(lead, shard, eventstore.Mark{Offset: items[len(items)-1].Offset}))
		resign()
	}
	lead, term, resign, err := k.store.LeadSpace(ctx)
	k.must(err)
	if first := must(k.store.Promised(lead))(k); len(first) == 0 || term == 0 {
		k.Errorf("promised to %v under term %d", first, term)
	}
	resign()
	for {
		entries, buckets := 0, 0
		for path := range k.w.nodes(k.T, "/outbox") {
			switch {
			case strings.Contains(path, "/e-"):
				entries++
			case strings.Contains(path, "/b"):
				buckets++
			}
		}
		if entries == 0 && buckets <= 2*k.store.Shards() {
			return
		}
		if ctx.Err() != nil {
			k.Fatalf("%d entries and %d buckets are left in the outbox", entries, buckets)
		}
	}
}

// restores makes a tree anew from a history, and excludes others from one.
func (k *walker) restores(fates ...fate) []string {
	r := newWalker(k.T, true, fates...)
	r.loser.spares("")
	ctx := k.Context()
	b := domain.Batch{ID: domain.NewBatchID(1), State: domain.BatchProcessing, Version: 3, Submission: storetest.Submission()}
	j := domain.Job{ID: domain.NewJobID(1), State: domain.JobHeld, Version: 2, Priority: 5,
		Configuration: storetest.Create(b.ID, 0, 5).Configuration}
	k.must(r.store.Restore(ctx, eventstore.History{Epoch: 4, Batches: []domain.Batch{b}, Jobs: []domain.Job{j}, NextBatch: 9, NextJob: 8}, nil))
	k.must(r.store.Restored(ctx))
	k.must(r.store.Exclude(ctx))
	k.must(r.store.Restored(ctx))
	if now := must(r.store.Overview(ctx))(r).Epoch; now != 5 {
		k.Errorf("epoch %d follows 4", now)
	}
	if got := r.kit.Job(j.ID).State; got.State != j.State || got.Version != j.Version {
		k.Errorf("restored %+v", got)
	}
	if id := must(r.store.ReserveJobIDs(ctx, 1))(r); id < domain.NewJobID(8) {
		k.Errorf("%s may have been used", id)
	}
	remove(k.T, r.w.root)
	lost := r.loser.met()
	for i := range lost {
		lost[i] = "restoring: " + lost[i]
	}
	return lost
}
