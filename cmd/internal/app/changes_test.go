package app

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/app/event"
	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/projections/query"
)

// fakeLive has a live state in maps, one profile and working directories; its
// tables do not answer.
type fakeLive struct {
	LiveState
	EventLog
	Tables
	Effects
	*storetest.Kit
	store    *memory.Store
	files    *files.Handler
	profiles *profile.Set
	work     string
	workErr  error
}

type memLive struct{ *memory.Store }

func (memLive) Room(context.Context) error { return nil }

func (l memLive) Overview(ctx context.Context) (o eventstore.Overview, err error) {
	o.Queues = map[domain.JobState]int{}
	ids, err := l.Batches(ctx)
	for _, id := range ids {
		for _, sub := range domain.Subs {
			jobs, _ := l.BatchJobs(ctx, id, sub)
			for _, j := range jobs {
				at, err := l.Job(ctx, j)
				if err != nil {
					return o, err
				}
				o.Queues[at.State.State]++
			}
		}
	}
	return o, err
}

func (w *fakeLive) Live(context.Context) (Live, error)                   { return memLive{w.store}, nil }
func (w *fakeLive) Handler(context.Context) (*eventstore.Handler, error) { return w.Kit.Handler, nil }
func (w *fakeLive) Profiles() (*profile.Set, error)                      { return w.profiles, nil }
func (w *fakeLive) DB(context.Context) (query.DB, error)                 { return nil, errors.New("away") }
func (w *fakeLive) Projected(context.Context, domain.Aggregate, int64) error {
	return errors.New("away")
}
func (w *fakeLive) FileHandler(context.Context) (*files.Handler, error) { return w.files, nil }
func (w *fakeLive) RemoveWork(_ context.Context, j domain.Job) error {
	if w.workErr != nil {
		return w.workErr
	}
	return os.RemoveAll(filepath.Join(w.work, string(j.ID)))
}

func newFakeLive(t *testing.T) (*fakeLive, *App) {
	t.Helper()
	dir := t.TempDir()
	text := "name: maps\ncollection: maps\nowner: us\nidentifier: {naan: 99999, shoulder: fk4}\n"
	if err := os.WriteFile(filepath.Join(dir, "maps.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := profile.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := memory.New(memory.Options{}).Session()
	w := &fakeLive{Kit: storetest.NewKit(t, s), store: s, profiles: set, work: t.TempDir()}
	return w, &App{Open: resources(w), Actor: "user/maria"}
}

// picture is everything that a command may change, in one text.
func (w *fakeLive) picture() string {
	w.Helper()
	var b strings.Builder
	for _, items := range w.Outbox() {
		for _, it := range items {
			for _, e := range it.Events {
				b.WriteString(e.ID() + "\n")
			}
		}
	}
	return b.String()
}

// try checks a command: tried, it changes nothing and tells row and states; then it
// does what it told, and its event names actor and reason.
func (w *fakeLive) try(a *App, want Changed, why string, do func() (Changed, error)) Changed {
	w.Helper()
	before := w.picture()
	a.DryRun = true
	tried, err := do()
	a.DryRun = false
	if err != nil || !tried.DryRun {
		w.Fatalf("%+v: tried: %+v, %v", want, tried, err)
	}
	if after := w.picture(); after != before {
		w.Fatalf("%+v: it was only tried and wrote\n%s", want, cmp.Diff(before, after))
	}
	done, err := do()
	if err != nil {
		w.Fatalf("%+v: %v", want, err)
	}
	for _, c := range []Changed{tried, done} {
		if c.Subject != want.Subject || c.From != want.From || c.State != want.State || c.Row != want.Row || c.Version != tried.Version {
			w.Errorf("%+v, want %+v", c, want)
		}
	}
	subject, err := domain.ParseAggregate(done.Subject)
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range w.Events(subject) {
		if e.Version != done.Version {
			continue
		}
		said := ""
		if _, _, r := event.Of(e).Move(); r != nil {
			said = r.Message
		}
		if e.Actor != a.Actor || !strings.Contains(said, why) {
			w.Errorf("%s: by %s because of %q", e.ID(), e.Actor, said)
		}
		return done
	}
	w.Errorf("%s has no event %d", done.Subject, done.Version)
	return done
}

// refused checks a command that the rules do not allow.
func (w *fakeLive) refused(kind Kind, says, hint string, do func() (Changed, error)) {
	w.Helper()
	before := w.picture()
	_, err := do()
	var e *Error
	if !errors.As(err, &e) || e.Kind != kind || !strings.Contains(err.Error(), says) || !strings.Contains(e.Hint, hint) {
		w.Errorf("%v (%+v), want %s: %s; %s", err, e, kind, says, hint)
	}
	if w.picture() != before {
		w.Errorf("%v, and yet something was written", err)
	}
}

func TestOperatorsMoveJobs(t *testing.T) {
	t.Parallel()
	w, a := newFakeLive(t)
	ctx := t.Context()
	batch, jobs := w.Started(5, 5, 5)
	id, subject := jobs[0], jobs[0].Aggregate()
	w.try(a, Changed{Target: target.Of(subject), From: "pending", State: "held", Row: "J2"}, "rights unclear", func() (Changed, error) { return a.HoldJob(ctx, id, "rights unclear") })
	w.refused(Refused, "job/"+string(id)+" is held: hold is not possible (possible from here: pending, deleted, failed)", "accession job release "+string(id),
		func() (Changed, error) { return a.HoldJob(ctx, id, "") })
	w.Hold(domain.HoldCollection, storetest.Profile, "ana")
	w.refused(Refused, "collection maps is on hold, set by ana: a test; release that hold first", "accession collection ls",
		func() (Changed, error) { return a.ReleaseJob(ctx, id, "") })
	w.Hold(domain.HoldCollection, storetest.Profile, "")
	w.try(a, Changed{Target: target.Of(subject), From: "held", State: "pending", Row: "J3"}, "cleared", func() (Changed, error) { return a.ReleaseJob(ctx, id, "cleared") })
	c := w.try(a, Changed{Target: target.Of(subject), From: "pending", State: "pending"}, "asked for by phone", func() (Changed, error) { return a.Reprioritise(ctx, id, 0, "asked for by phone") })
	if len(c.Effects) != 1 || c.Effects[0] != "its priority changes from 5 to 0" {
		t.Errorf("%q", c.Effects)
	}
	w.refused(Invalid, "a priority is 0 to 99", "", func() (Changed, error) { return a.Reprioritise(ctx, id, 100, "") })
	w.Walk(id, domain.JobDownloading)
	w.refused(Refused, "is downloading: requeue is not possible", "accession job fail", func() (Changed, error) { return a.Requeue(ctx, id, "") })
	w.Fail(id, domain.JobProcessing)
	c = w.try(a, Changed{Target: target.Of(subject), From: "failed", State: "processing", Row: "J17"}, "mended", func() (Changed, error) { return a.Requeue(ctx, id, "mended") })
	if got := strings.Join(c.Effects, "; "); got != "it waits in the queue processing with priority 0; this is its attempt number 2; its batch "+string(batch)+" counts it in batch-processing, no longer in batch-failed" {
		t.Error(got)
	}
	w.refused(NotFound, "there is no such job", "accession job ls", func() (Changed, error) { return a.HoldJob(ctx, "jid0000000099", "") })
	claim, _, err := w.store.ClaimJob(ctx, jobs[1])
	if err != nil || claim == nil {
		t.Fatal(err)
	}
	w.refused(Refused, "locked", "locked by a worker", func() (Changed, error) { return a.Reprioritise(ctx, jobs[1], 1, "") })
	a.DryRun = true
	w.refused(Refused, "locked", "locked by a worker", func() (Changed, error) { return a.Reprioritise(ctx, jobs[1], 1, "") })
}

func TestOperatorsDeleteJobs(t *testing.T) {
	t.Parallel()
	w, a := newFakeLive(t)
	ctx := t.Context()
	batch, jobs := w.Started(5, 5)
	for _, j := range jobs {
		if err := os.MkdirAll(filepath.Join(w.work, string(j)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.Fail(jobs[0], domain.JobDownloading)
	w.DoJob(jobs[1], domain.HoldJob{}, storetest.Operator())
	w.refused(Invalid, "a deletion needs a reason", "--reason", func() (Changed, error) { return a.DeleteJob(ctx, jobs[0], " ") })
	c := w.try(a, Changed{Target: target.Of(jobs[0].Aggregate()), From: "failed", State: "deleted", Row: "J21"}, "sent twice", func() (Changed, error) { return a.DeleteJob(ctx, jobs[0], "sent twice") })
	if want := string(batch) + " is not finished: its report will count this job as deleted and will not name http://files.test/object.checkm (row 1), which failed with digest_mismatch: a digest differs"; len(c.Effects) != 1 || c.Effects[0] != want {
		t.Errorf("%q, want %q", c.Effects, want)
	}
	if b := w.Batch(batch).State; b.State != domain.BatchProcessing {
		t.Errorf("the batch went on to %s while a job of it is held", b.State)
	}
	// The last job takes the batch on; a directory that cannot be removed here is
	// left to the janitor.
	w.workErr = errors.New("not on this machine")
	c = w.try(a, Changed{Target: target.Of(jobs[1].Aggregate()), From: "held", State: "deleted", Row: "J22"}, "sent twice", func() (Changed, error) { return a.DeleteJob(ctx, jobs[1], "sent twice") })
	if len(c.Effects) != 2 || !strings.Contains(c.Effects[1], "the janitor does it: not on this machine") {
		t.Errorf("%q", c.Effects)
	}
	if b := w.Batch(batch).State; b.State != domain.BatchReporting {
		t.Errorf("nothing is left to do and the batch is %s", b.State)
	}
	if left, _ := os.ReadDir(w.work); len(left) != 1 || left[0].Name() != string(jobs[1]) {
		t.Errorf("working directories left: %v", left)
	}
}

// TestOperatorsEndJobs: a job in any state before completed and failed can be failed and
// deleted, also while a worker has it locked; the worker's next write is refused.
// Shows: P1 P16
func TestOperatorsEndJobs(t *testing.T) {
	t.Parallel()
	w, a := newFakeLive(t)
	ctx := t.Context()
	states := []domain.JobState{domain.JobPending, domain.JobHeld, domain.JobEstimating, domain.JobProvisioning,
		domain.JobDownloading, domain.JobProcessing, domain.JobRecording, domain.JobNotify}
	batch, jobs := w.Started(slices.Repeat([]int{5}, len(states)+2)...)
	for i, in := range states {
		id, subject := jobs[i], jobs[i].Aggregate()
		if in == domain.JobHeld {
			w.DoJob(id, domain.HoldJob{}, storetest.Operator())
		} else {
			w.Walk(id, in)
		}
		w.refused(Invalid, "failing a job needs a reason", "--reason", func() (Changed, error) { return a.FailJob(ctx, id, " ") })
		w.try(a, Changed{Target: target.Of(subject), From: string(in), State: "failed", Row: "J24"}, "withdrawn", func() (Changed, error) { return a.FailJob(ctx, id, "withdrawn") })
		if j := w.Job(id).State; j.Reason.Class != domain.ClassCancelled || j.Reason.Code != domain.CodeCancelled {
			t.Errorf("%s from %s fails with %+v", id, in, j.Reason)
		}
		w.refused(Refused, "fail is not possible", "accession job requeue", func() (Changed, error) { return a.FailJob(ctx, id, "again") })
		if in != domain.JobHeld { // a requeue leads back to where it was, or to the beginning
			want := in
			if in == domain.JobEstimating || in == domain.JobProvisioning {
				want = domain.JobPending
			}
			if c, err := a.Requeue(ctx, id, ""); err != nil || c.State != string(want) {
				t.Errorf("requeue after %s: %+v, %v", in, c, err)
			}
		}
		c, err := a.DeleteJob(ctx, id, "sent twice")
		if err != nil || c.State != "deleted" || c.Row != "J21" {
			t.Errorf("delete from %s: %+v, %v", in, c, err)
		}
	}
	last := jobs[len(states)]
	w.Walk(last, domain.JobDownloading)
	claim, _, err := w.store.ClaimJob(ctx, last)
	if err != nil || claim == nil {
		t.Fatal(err)
	}
	c, err := a.FailJob(ctx, last, "withdrawn")
	if err != nil || c.State != "failed" || !slices.ContainsFunc(c.Effects, func(e string) bool { return strings.Contains(e, "a worker has it locked") }) {
		t.Fatalf("%+v, %v", c, err)
	}
	_, err = w.Kit.Handler.Job(ctx, last, domain.DownloadJob{Priority: 5}, storetest.Under(claim, false))
	if r, ok := errors.AsType[*domain.Refused](err); !ok || r.State != "failed" {
		t.Errorf("the worker goes on: %v", err)
	}
	if j := w.Job(last).State; j.State != domain.JobFailed {
		t.Errorf("the job is %s", j.State)
	}
	w.refused(Refused, "locked", "locked by a worker", func() (Changed, error) { return a.DeleteJob(ctx, last, "sent twice") })
	if err := w.store.Release(ctx, claim, 0); err != nil {
		t.Fatal(err)
	}
	// A deletion waits until the worker has let the job go.
	if c, err := a.Requeue(ctx, last, ""); err != nil || c.State != "downloading" {
		t.Fatalf("%+v, %v", c, err)
	}
	if claim, _, err = w.store.ClaimJob(ctx, last); err != nil || claim == nil {
		t.Fatal(err)
	}
	go func() {
		for w.Job(last).State.State != domain.JobFailed {
			runtime.Gosched()
		}
		_ = w.store.Release(context.WithoutCancel(ctx), claim, 0)
	}()
	if c, err := a.DeleteJob(ctx, last, "sent twice"); err != nil || c.State != "deleted" || !strings.Contains(c.Effects[0], "it was downloading and failed first (J24)") {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := a.FailJob(ctx, jobs[len(states)+1], "withdrawn"); err != nil {
		t.Fatal(err)
	}
	if b := w.Batch(batch).State; b.State != domain.BatchReporting {
		t.Errorf("nothing is left to do and the batch is %s", b.State)
	}
}

// TestDeletionRequestedAgain: a deletion that failed the job and was then interrupted deletes
// it when it is requested again, also for the version that the caller knew; and one that was
// requested for another version changes nothing.
func TestDeletionRequestedAgain(t *testing.T) {
	t.Parallel()
	for _, version := range []bool{false, true} {
		w, a := newFakeLive(t)
		ctx := t.Context()
		_, jobs := w.Started(5, 5)
		id, other := jobs[0], jobs[1]
		w.Walk(id, domain.JobProvisioning)
		w.Walk(other, domain.JobProvisioning)
		request := func(id domain.JobID, less int64) *App {
			cmd := &Command{ID: "once"}
			if version {
				cmd.IfVersion = w.Job(id).State.Version - less
			}
			return &App{Open: a.Open, Actor: a.Actor, Command: cmd}
		}
		known := request(id, 0).Command.IfVersion
		if _, err := request(id, 0).part("fail").failJob(ctx, id, "sent twice"); err != nil {
			t.Fatal(err)
		}
		again := &App{Open: a.Open, Actor: a.Actor, Command: &Command{ID: "once", IfVersion: known}}
		if c, err := again.DeleteJob(ctx, id, "sent twice"); err != nil || c.State != "deleted" {
			t.Errorf("with the version %t: %+v, %v", version, c, err)
		}
		if version {
			before := w.picture()
			if _, err := request(other, 1).DeleteJob(ctx, other, "sent twice"); !errors.Is(err, eventstore.ErrOutdated) || w.picture() != before {
				t.Errorf("another version: %v", err)
			}
		}
	}
}

// TestRequeuedFileTakesItsJobWithIt: a file that was given up is of no use while its job
// stays failed. What was left between the two writes is completed by the next call, and a
// job that cannot be requeued is named with the command.
func TestRequeuedFileTakesItsJobWithIt(t *testing.T) {
	t.Parallel()
	w, a := newFakeLive(t)
	clock := memory.NewManualClock(time.Unix(1_800_000_000, 0))
	w.files = &files.Handler{Log: memory.NewLog(clock), Clock: clock.Now, NewID: rand.Text}
	ctx := t.Context()
	batch, jobs := w.Started(5, 5, 5)
	why := domain.Reason{Class: domain.ClassContent, Code: "http_status", Message: "404"}
	meta := eventstore.Meta{Actor: "daemon/test"}
	do := func(hash domain.FileHash, cmd domain.FileCommand) domain.File {
		t.Helper()
		res, err := w.files.File(ctx, hash, cmd, meta)
		if err != nil {
			t.Fatal(err)
		}
		return res.File
	}
	givenUp := func(job domain.JobID) domain.FileHash {
		spec := domain.FileSpec{Source: string(job), Path: "a.txt", BatchID: batch, JobID: job}
		do(spec.Hash(), domain.DiscoverFile{Spec: spec})
		f := do(spec.Hash(), domain.StartDownload{Worker: "w", Limits: domain.Limits{Max: 1}})
		do(spec.Hash(), domain.FailDownload{Fence: f.Fence, Reason: why, Limits: domain.Limits{Max: 1}})
		w.Fail(job, domain.JobDownloading)
		return spec.Hash()
	}
	check := func(job domain.JobID, row string, effect string, c Changed, err error) {
		t.Helper()
		if err != nil || c.State != "DISCOVERED" || c.Row != row || len(c.Effects) != 1 || !strings.Contains(c.Effects[0], effect) {
			t.Errorf("%s: %+v, %v", job, c, err)
		}
	}
	whole := givenUp(jobs[0])
	c, err := a.RequeueFile(ctx, whole, "found")
	check(jobs[0], "O1", "goes on in downloading (J16)", c, err)
	if j := w.Job(jobs[0]).State; j.State != domain.JobDownloading {
		t.Errorf("its job is %s", j.State)
	}
	half := givenUp(jobs[1])
	do(half, domain.ReopenFile{Reason: why}) // and then the command was killed
	c, err = a.RequeueFile(ctx, half, "found")
	check(jobs[1], "", "goes on in downloading (J16)", c, err)
	late := givenUp(jobs[2])
	w.Walk(jobs[0], domain.JobCompleted)
	w.Walk(jobs[1], domain.JobCompleted)
	w.DoBatch(batch, domain.BeginReport{}, storetest.Operator())
	c, err = a.RequeueFile(ctx, late, "found")
	check(jobs[2], "O1", "`accession job requeue "+string(jobs[2])+"` requeues it", c, err)
	if j := w.Job(jobs[2]).State; j.State != domain.JobFailed {
		t.Errorf("its job is %s", j.State)
	}
}

func TestOperatorsMoveBatches(t *testing.T) {
	t.Parallel()
	w, a := newFakeLive(t)
	ctx := t.Context()
	id := w.Submit()
	subject := id.Aggregate()
	w.refused(Refused, "is pending: release is not possible", "accession batch show "+string(id), func() (Changed, error) { return a.ReleaseBatch(ctx, id, "") })
	w.Hold(domain.HoldCollection, storetest.Profile, "ana")
	w.DoBatch(id, domain.HoldBatch{}, storetest.Operator())
	w.refused(Refused, "release that hold first", "accession collection ls", func() (Changed, error) { return a.ReleaseBatch(ctx, id, "") })
	w.Hold(domain.HoldCollection, storetest.Profile, "")
	w.try(a, Changed{Target: target.Of(subject), From: "held", State: "pending", Row: "B4"}, "cleared", func() (Changed, error) { return a.ReleaseBatch(ctx, id, "cleared") })
	w.refused(NotFound, "there is no such batch", "accession batch ls", func() (Changed, error) { return a.ReleaseBatch(ctx, "bid0000000099", "") })

	id, jobs := w.Started(5, 5, 5)
	subject = id.Aggregate()
	w.refused(Refused, "is processing: update-report is not possible", "its jobs are being processed", func() (Changed, error) { return a.RequestUpdate(ctx, id, "") })
	w.refused(Refused, "is processing: delete is not possible", "its jobs are being processed", func() (Changed, error) { return a.DeleteBatch(ctx, id, "why not") })
	w.Walk(jobs[0], domain.JobCompleted)
	w.Fail(jobs[1], domain.JobDownloading)
	w.Fail(jobs[2], domain.JobDownloading)
	w.Reported(id)
	w.DoJob(jobs[1], domain.RequeueJob{}, storetest.Operator())
	w.refused(Refused, "jobs of the batch are still being processed", "accession job ls --batch "+string(id), func() (Changed, error) { return a.RequestUpdate(ctx, id, "") })
	w.Walk(jobs[1], domain.JobCompleted)
	c := w.try(a, Changed{Target: target.Of(subject), From: "failed", State: "update-reporting", Row: "B8"}, "one was mended", func() (Changed, error) { return a.RequestUpdate(ctx, id, "one was mended") })
	if len(c.Effects) != 1 || !strings.Contains(c.Effects[0], "2 completed and 1 unresolved") {
		t.Errorf("%q", c.Effects)
	}
}

func TestOperatorsEndBatches(t *testing.T) {
	t.Parallel()
	w, a := newFakeLive(t)
	ctx := t.Context()
	gone := func(id domain.BatchID) {
		t.Helper()
		if _, err := w.store.Batch(ctx, id); !errors.Is(err, eventstore.ErrNotFound) {
			t.Errorf("%s is still there: %v", id, err)
		}
		if left, _ := os.ReadDir(w.work); len(left) != 0 {
			t.Errorf("working directories left: %v", left)
		}
	}
	finished := func(fail bool) (domain.BatchID, []domain.JobID) {
		t.Helper()
		id, jobs := w.Started(5, 5)
		w.Walk(jobs[0], domain.JobCompleted)
		if fail {
			w.Fail(jobs[1], domain.JobDownloading)
		} else {
			w.Walk(jobs[1], domain.JobCompleted)
		}
		w.Reported(id)
		if err := os.MkdirAll(filepath.Join(w.work, string(jobs[1]), "files"), 0o755); err != nil {
			t.Fatal(err)
		}
		return id, jobs
	}

	id, jobs := finished(true)
	w.refused(Invalid, "a deletion needs a reason", "--reason", func() (Changed, error) { return a.DeleteBatch(ctx, id, "") })
	w.refused(Refused, "is failed: clean up is not possible", "accession batch delete "+string(id), func() (Changed, error) { return a.CleanBatch(ctx, id, "") })
	w.DoJob(jobs[1], domain.RequeueJob{}, storetest.Operator())
	claim, _, err := w.store.ClaimJob(ctx, jobs[1])
	if err != nil {
		t.Fatal(err)
	}
	w.refused(Refused, "1 of its jobs are being worked on, among them "+string(jobs[1]), "accession job ls --batch "+string(id),
		func() (Changed, error) { return a.DeleteBatch(ctx, id, "withdrawn") })
	if err := w.store.Release(ctx, claim, 0); err != nil {
		t.Fatal(err)
	}
	c := w.try(a, Changed{Target: target.Of(id.Aggregate()), From: "failed", State: "deleted", Row: "B11"}, "withdrawn", func() (Changed, error) { return a.DeleteBatch(ctx, id, "withdrawn") })
	if len(c.Effects) != 1 || !strings.HasPrefix(c.Effects[0], "its 2 jobs go with it: 1 completed, 0 failed, 1 in progress") {
		t.Errorf("%q", c.Effects)
	}
	gone(id)
	for _, j := range jobs {
		events := w.Events(j.Aggregate())
		if last := events[len(events)-1]; last.Type != domain.EventJobDeleted || last.Actor != a.Actor {
			t.Errorf("%s: the last event is %s by %s", j, last.Type, last.Actor)
		}
	}

	// What cannot be removed at once is said, and asking again finishes it.
	id, _ = finished(true)
	w.workErr = errors.New("not on this machine")
	if c, err := a.DeleteBatch(ctx, id, "withdrawn"); err != nil || c.State != "deleted" || !strings.Contains(c.Effects[1], "the janitor goes on: ") {
		t.Errorf("%+v, %v", c, err)
	}
	w.workErr = nil
	if c, err := a.DeleteBatch(ctx, id, "withdrawn"); err != nil || c.From != "deleted" || !strings.Contains(c.Effects[0], "it was deleted before") {
		t.Errorf("%+v, %v", c, err)
	}
	gone(id)

	id, jobs = finished(false)
	w.refused(Refused, "a completed batch is cleaned up, not deleted", "accession batch cleanup "+string(id), func() (Changed, error) { return a.DeleteBatch(ctx, id, "withdrawn") })
	w.try(a, Changed{Target: target.Of(id.Aggregate()), From: "completed", State: "deleted", Row: "B13"}, "cleaned up on request: space is short", func() (Changed, error) { return a.CleanBatch(ctx, id, "space is short") })
	gone(id)
	if events := w.Events(jobs[0].Aggregate()); events[len(events)-1].Type != domain.EventJobCompleted {
		t.Errorf("the clean-up wrote %s", events[len(events)-1].Type)
	}
	w.refused(NotFound, "there is no such batch", "also those that were deleted", func() (Changed, error) { return a.CleanBatch(ctx, id, "") })

	// A held batch has no jobs.
	id = w.Submit()
	w.Hold(domain.HoldCollection, storetest.Profile, "ana")
	w.DoBatch(id, domain.HoldBatch{}, storetest.Operator())
	w.try(a, Changed{Target: target.Of(id.Aggregate()), From: "held", State: "deleted", Row: "B12"}, "a mistake", func() (Changed, error) { return a.DeleteBatch(ctx, id, "a mistake") })
	gone(id)
}

func TestOperatorsSetHoldsAndPauses(t *testing.T) {
	t.Parallel()
	w, a := newFakeLive(t)
	ctx := t.Context()
	w.Started(5, 5)
	w.refused(NotFound, `no profile describes the collection "map"`, "there is maps", func() (Changed, error) { return a.HoldCollection(ctx, "map", "") })
	w.refused(Invalid, "printable ASCII", "", func() (Changed, error) { return a.HoldCollection(ctx, "a/b", "") })
	w.try(a, Changed{Target: target.Target{ID: "maps", Subject: "setting/collection:maps"}, From: "open", State: "on hold"}, "new terms", func() (Changed, error) { return a.HoldCollection(ctx, "maps", "new terms") })
	w.refused(Refused, "collection maps is already on hold", "accession collection ls", func() (Changed, error) { return a.HoldCollection(ctx, "maps", "") })
	list, err := a.Collections(ctx)
	if err != nil || len(list) != 1 || list[0].Name != "maps" || list[0].Profile != "maps" || list[0].Hold.By != "user/maria" || list[0].Hold.Why != "new terms" ||
		list[0].Hold.When.IsZero() || list[0].Jobs != nil {
		t.Errorf("%+v, %v", list, err)
	}
	w.try(a, Changed{Target: target.Target{ID: "maps", Subject: "setting/collection:maps"}, From: "on hold", State: "open"}, "signed", func() (Changed, error) { return a.ReleaseCollection(ctx, "maps", "signed") })
	w.refused(Refused, "collection maps is not on hold", "accession collection ls", func() (Changed, error) { return a.ReleaseCollection(ctx, "maps", "") })

	w.refused(Invalid, "a pause names ingest or a state", "", func() (Changed, error) { return a.PauseQueue(ctx, "held", "") })
	w.try(a, Changed{Target: target.Target{ID: "pending", Subject: "setting/queue:pending"}, From: "open", State: "paused"}, "disks full", func() (Changed, error) { return a.PauseQueue(ctx, "pending", "disks full") })
	queues, err := a.Queues(ctx)
	if err != nil || len(queues) != 1+len(domain.JobStates) || queues[0].Name != domain.QueueIngest || queues[0].Depth != 2 || queues[0].Pause != nil ||
		queues[1].Name != "pending" || queues[1].Depth != 2 || queues[1].Pause.Why != "disks full" {
		t.Errorf("%+v, %v", queues, err)
	}
	w.try(a, Changed{Target: target.Target{ID: "pending", Subject: "setting/queue:pending"}, From: "paused", State: "open"}, "", func() (Changed, error) { return a.ResumeQueue(ctx, "pending", "") })
	w.refused(Refused, "queue pending is not paused", "accession queue ls", func() (Changed, error) { return a.ResumeQueue(ctx, "pending", "") })
}

func TestProfilesAreListed(t *testing.T) {
	t.Parallel()
	_, a := newFakeLive(t)
	list, err := a.Profiles(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != "maps" || list[0].Fetch.Attempts != 16 {
		t.Errorf("%v, %v", list, err)
	}
}
