package ownstep_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/order"
	"github.com/accession-ingest/accession/cmd/internal/daemon/ownstep"
	"github.com/accession-ingest/accession/cmd/internal/outside"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

const actor = domain.Actor("daemon/job-processing")

var job = domain.Job{ID: domain.NewJobID(7), State: domain.JobProcessing}

// bench has a maker, the queue, and a worker's results.
type bench struct {
	*storetest.Kit
	maker ownstep.Maker
	order *order.Jobs
	p     profile.Profile
	files []ownstep.File
	lost  bool // the results are
}

func newBench(t *testing.T, files int, steps ...profile.Step) *bench {
	t.Helper()
	b := &bench{Kit: storetest.NewKit(t, memory.New(memory.Options{}).Session()), p: profile.Profile{Name: "maps", Steps: steps}}
	b.order = order.New(nil, nil, nil, b.Handler.Clock)
	b.maker = ownstep.Maker{Handler: b.Handler, Records: b, Order: b.order}
	for i := range files {
		name := fmt.Sprintf("%d.tif", i)
		b.files = append(b.files, ownstep.File{Hash: domain.HashFile(string(job.ID), name), Name: name})
	}
	return b
}

// ComputeResult implements ownstep.Records.
func (b *bench) ComputeResult(_ context.Context, id compute.ID, sha256 string, _ int64) (record.ComputeResult, bool, error) {
	return record.ComputeResult{Entry: id, SHA256: sha256, Result: json.RawMessage(`"<ok>"`), Worker: "w", Attempt: 1}, !b.lost, nil
}

func (b *bench) make() ownstep.Standing {
	b.Helper()
	s, err := b.maker.Make(b.Context(), job, b.p, b.files, actor)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// take lets a worker take the next entry, and end it with a command, nil = not yet.
func (b *bench) take(cmd compute.Command) compute.Entry {
	b.Helper()
	taken, err := b.Handler.TakeEntry(b.Context(), compute.Wants{PassLimit: compute.PassLimit}, eventstore.Meta{Actor: "daemon/compute"})
	if err == nil && cmd != nil {
		_, err = b.Handler.EndEntry(b.Context(), taken, cmd, eventstore.Meta{Actor: "daemon/compute"})
	}
	if err != nil {
		b.Fatal(err)
	}
	return taken.State
}

var done = compute.Complete{Result: entry.Result{SHA256: strings.Repeat("a", 64), Size: 6}}

// TestStepsFollowEachOther: a step is requested once, the next one when it has its result, and
// the job is told of the end of the entry that it waits for.
func TestStepsFollowEachOther(t *testing.T) {
	t.Parallel()
	b := newBench(t, 2, profile.Step{Name: "scan", Dataset: "scans"}, profile.Step{Name: "derive", Dataset: "derived", Priority: 7})
	s := b.make()
	first := s.Before
	if first.Entry == "" || first.Step != "scan" || s.Failed != nil || s.Delay <= 0 || len(s.Results) > 0 {
		t.Fatalf("%+v", s)
	}
	if again := b.make(); again.Before != first {
		t.Errorf("it is requested twice: %+v", again)
	}
	if why := first.Reason(); why.Code != compute.CodeCompute || !strings.Contains(why.Message, string(first.Entry)) || !strings.Contains(why.Message, "scan") {
		t.Errorf("%+v", why)
	}
	e := b.take(done)
	if e.ID != first.Entry || e.Work != (entry.Work{Dataset: "scans", Group: "maps", Priority: entry.DefaultPriority, Key: "job/jid0000000007/scan/0"}) {
		t.Errorf("%+v", e)
	}
	if files, are := e.InputFiles(); !are || len(files) != 2 || files[1] != b.files[1].Hash {
		t.Errorf("%v, %v", files, are)
	}
	for to, woken := range map[entry.State]int{entry.Staging: 0, entry.Pending: 0} {
		if got := b.order.Notice(domain.Recorded{Event: domain.Event{Aggregate: e.ID.Aggregate(), Data: &domain.EntryMove{To: to}}}); len(got) != woken {
			t.Errorf("%s wakes %v", to, got)
		}
	}
	if got := b.order.Notice(domain.Recorded{Event: domain.Event{Aggregate: e.ID.Aggregate(), Data: &domain.EntryMove{To: entry.Successful}}}); !slices.Equal(got, []domain.JobID{job.ID}) {
		t.Errorf("its end wakes %v", got)
	}
	if s = b.make(); s.Before.Step != "derive" || len(s.Results) != 1 {
		t.Errorf("%+v", s)
	}
	if e := b.take(done); e.Work.Priority != 7 {
		t.Errorf("%+v", e.Work)
	}
	s = b.make()
	if s.Before != (order.Before{}) || s.Failed != nil || len(s.Results) != 2 || fmt.Sprint(s.Results[1].Files) != "[0.tif 1.tif]" {
		t.Errorf("%+v", s)
	}

	// The next attempt at the job requests all anew.
	job := job
	job.RetryCount++
	if s, err := b.maker.Make(t.Context(), job, b.p, b.files, actor); err != nil || s.Before.Step != "scan" || s.Before.Entry == first.Entry {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestManyFilesAreDivided: an entry is about as many files as one may have, and all of them
// have results before the job goes on.
func TestManyFilesAreDivided(t *testing.T) {
	t.Parallel()
	b := newBench(t, 2*compute.PartFiles+1, profile.Step{Name: "scan", Dataset: "scans"})
	b.make()
	for n, files := range []int{compute.PartFiles, compute.PartFiles, 1} {
		if s := b.make(); s.Before.Entry == "" || len(s.Results) != n {
			t.Fatalf("%d: %+v", n, s)
		}
		if e := b.take(done); len(e.Request.Inputs) != files {
			t.Errorf("%s has %d files", e.Work.Key, len(e.Request.Inputs))
		}
	}
	var names []string
	for _, r := range b.make().Results {
		names = append(names, r.Files...)
	}
	if len(names) != len(b.files) || names[len(names)-1] != b.files[len(b.files)-1].Name {
		t.Errorf("%d files", len(names))
	}
}

// TestStepsFail: a job fails as a worker says, or when one has had the work for too long; a
// lost result is no failure of the job.
func TestStepsFail(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1, profile.Step{Name: "scan", Dataset: "scans", Timeout: profile.Duration(time.Minute)})
	b.make()
	b.take(compute.Fail{Reason: domain.Reason{Class: domain.ClassContent, Code: "worker_failed", Message: "it is infected"}})
	if s := b.make(); s.Failed == nil || s.Before != (order.Before{}) || s.Failed.Class != domain.ClassContent || s.Failed.Message != "scan: it is infected" {
		t.Errorf("%+v", s)
	}

	b = newBench(t, 1, profile.Step{Name: "scan", Dataset: "scans", Timeout: profile.Duration(time.Minute)})
	now := b.Handler.Clock()
	b.Handler.Clock = func() time.Time { return now }
	b.make()
	now = now.Add(time.Hour)
	if s := b.make(); s.Failed != nil {
		t.Errorf("while it waits: %+v", s.Failed)
	}
	b.take(nil)
	if s := b.make(); s.Failed != nil || s.Delay > 30*time.Second {
		t.Errorf("%+v", s)
	}
	now = now.Add(50 * time.Second)
	if s := b.make(); s.Failed != nil || s.Delay > 10*time.Second || s.Delay < 9*time.Second {
		t.Errorf("%+v", s)
	}
	now = now.Add(10 * time.Second)
	if s := b.make(); s.Failed == nil || s.Failed.Class != domain.ClassTimeout || s.Failed.Code != compute.CodeStepTimeout || s.Before != (order.Before{}) {
		t.Errorf("%+v", s)
	}

	b = newBench(t, 1, profile.Step{Name: "scan", Dataset: "scans"})
	b.make()
	b.take(done)
	b.lost = true
	if s, err := b.maker.Make(t.Context(), job, b.p, b.files, actor); err == nil || s.Failed != nil {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestAnEndBetweenTwoReads: an entry that ends right after it was looked at wakes no job, so
// that it is looked at again.
func TestAnEndBetweenTwoReads(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1, profile.Step{Name: "scan", Dataset: "scans"})
	entries := b.Handler.Entries
	b.Handler.Entries = ending{entries, func() { b.take(done) }}
	if s := b.make(); len(s.Results) != 1 || s.Before != (order.Before{}) {
		t.Errorf("%+v", s)
	}
}

// ending lets an entry end before it is read.
type ending struct {
	eventstore.Entries
	end func()
}

// LoadEntry implements eventstore.Entries.
func (e ending) LoadEntry(ctx context.Context, id compute.ID) (eventstore.Loaded[compute.Entry], error) {
	e.end()
	return e.Entries.LoadEntry(ctx, id)
}

// TestResultsAreDescribed: the results are a metadata file; a version that is stored keeps the
// one that it has, or none.
func TestResultsAreDescribed(t *testing.T) {
	t.Parallel()
	results := []ownstep.Result{{Step: "scan", Entry: "eid0000000001", Files: []string{"a"}, Result: json.RawMessage(`{"clean":true}`)}}
	files, err := ownstep.Described(nil, results)
	if err != nil || len(files) != 1 || files[0].Name != ownstep.FileName || files[0].Kind != store.KindSystem {
		t.Fatalf("%+v, %v", files, err)
	}
	r, err := files[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	var is struct{ Steps []ownstep.Result }
	if err = errors.Join(err, json.Unmarshal(data, &is)); err != nil || len(is.Steps) != 1 || is.Steps[0].Entry != results[0].Entry {
		t.Errorf("%s, %v", data, err)
	}
	if files, err := ownstep.Described(nil, nil); len(files) > 0 || err != nil {
		t.Errorf("%+v, %v", files, err)
	}
	had := store.StoredFile{Kind: store.KindSystem, Name: ownstep.FileName, Size: 3, SHA256: "s", MimeType: "application/json", Key: "k"}
	files, err = ownstep.Described(&store.StorageManifest{Files: []store.StoredFile{{Kind: store.KindProducer, Name: ownstep.FileName}, had}}, results)
	if err != nil || len(files) != 1 || files[0].Key != "k" || files[0].SHA256 != "s" {
		t.Errorf("%+v, %v", files, err)
	}
	if files, err := ownstep.Described(&store.StorageManifest{}, results); len(files) > 0 || err != nil {
		t.Errorf("%+v, %v", files, err)
	}
}

// TestStatesAreLeft: the work of a state is requested once, on the dataset of the state; its
// result is checked, and an entry that has ended because the job was held waits again.
func TestStatesAreLeft(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	j := domain.Job{ID: job.ID, State: domain.JobPending}
	dataset := compute.StateDataset(j.State)
	leave := func() ownstep.Standing {
		t.Helper()
		s, err := b.maker.Leave(t.Context(), j, b.p, profile.Outside{State: j.State, Priority: 7}, actor)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	take := func(cmd compute.Command) {
		t.Helper()
		taken, err := b.Handler.TakeEntry(b.Context(), compute.Wants{Datasets: []string{dataset}, PassLimit: compute.PassLimit}, eventstore.Meta{Actor: "daemon/compute"})
		if err == nil {
			_, err = b.Handler.EndEntry(b.Context(), taken, cmd, eventstore.Meta{Actor: "daemon/compute"})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	first := leave().Before
	if first.Entry == "" || first.Step != "pending" || leave().Before != first {
		t.Fatalf("%+v", first)
	}
	at, err := b.Handler.Entries.LoadEntry(t.Context(), first.Entry)
	if err != nil || at.State.Work != (entry.Work{Dataset: dataset, Group: "maps", Priority: 7, Key: "job/jid0000000007/_pending/0"}) {
		t.Errorf("%+v, %v", at.State.Work, err)
	}
	if _, err := b.Handler.Entry(t.Context(), first.Entry, compute.JobMoved(j.ID), eventstore.Meta{Actor: actor}); err != nil {
		t.Fatal(err)
	}
	if s := leave(); s.Before != first || s.Failed != nil {
		t.Fatalf("after a hold: %+v", s) // no worker could take it
	}
	take(done) // its result is the text "<ok>"
	if s := leave(); s.Failed == nil || s.Failed.Class != domain.ClassSystem || s.Failed.Code != outside.CodeResultInvalid || !strings.Contains(s.Failed.Message, "pending: the result of pending is no JSON object") || len(s.Results) > 0 {
		t.Errorf("%+v", s)
	}
	j.RetryCount++
	leave()
	take(compute.Fail{Reason: domain.Reason{Class: domain.ClassContent, Code: "worker_failed", Message: "no such mission"}})
	if s := leave(); s.Failed == nil || s.Failed.Message != "pending: no such mission" {
		t.Errorf("%+v", s)
	}

	// A step without a dataset is among the tasks of processing.
	b = newBench(t, 1, profile.Step{Name: "scan"})
	dataset = compute.StateDataset(domain.JobProcessing)
	entry := b.make().Before.Entry
	take(done)
	if s := b.make(); len(s.Results) != 1 || s.Results[0].Entry != entry {
		t.Errorf("%+v", s)
	}
}
