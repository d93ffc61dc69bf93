package compute

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/attempt"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/cmd/internal/validate"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/projections/query"
)

// yard has a job in processing with two files, the entry for its step, a worker and the leader.
type yard struct {
	*plant
	eventstore.Live
	job    domain.JobID
	hashes []domain.FileHash
	dir    string // of the downloaded files, by their names
	id     compute.ID
}

func newYard(t *testing.T, exec string) *yard {
	t.Helper()
	p := newPlant(t, exec)
	y := &yard{plant: p, Live: p.Handler.Live, dir: t.TempDir()}
	_, jobs := p.Started(5)
	y.job = jobs[0]
	p.Walk(y.job, domain.JobProcessing)
	for name, content := range map[string]string{"a b.txt": "first ", "b.txt": "second"} {
		if err := os.WriteFile(filepath.Join(y.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	y.files(y.job, map[string]string{"a b.txt": "first ", "b.txt": "second"})
	p.attempts.Jobs, p.leader.Tables = y, y
	y.id = y.requested(0, y.hashes...)
	return y
}

// files lets the log have downloaded files of a job.
func (y *yard) files(job domain.JobID, contents map[string]string) {
	y.Helper()
	for _, name := range []string{"a b.txt", "b.txt"} {
		spec, sum := domain.FileSpec{Source: string(job), Path: name, JobID: job, BatchID: domain.NewBatchID(1)}, sha256.Sum256([]byte(contents[name]))
		y.hash = spec.Hash()
		y.hashes = append(y.hashes, y.hash)
		y.do(domain.DiscoverFile{Spec: spec})
		y.do(domain.FileAlreadyThere{Size: int64(len(contents[name])), SHA256: hex.EncodeToString(sum[:])})
		y.do(domain.ReadyFile{})
	}
}

// requested requests a step of the job.
func (y *yard) requested(retry int, files ...domain.FileHash) compute.ID {
	y.Helper()
	s := compute.Step{Job: y.job, Name: "scan", Retry: retry, Part: 1}
	res, err := y.Handler.RequestEntry(y.Context(), compute.Request{Work: entry.Work{Dataset: "scans", Priority: 100, Key: s.Key()},
		Request: entry.Request{Submitter: "daemon/job-processing", Inputs: s.Inputs(files)}}, eventstore.Meta{Actor: "daemon/job-processing"})
	if err != nil {
		y.Fatal(err)
	}
	return res.State.ID
}

// Job implements attempt.Jobs.
func (y *yard) Job(ctx context.Context, id domain.JobID) (eventstore.Loaded[domain.Job], error) {
	return y.Live.Job(ctx, id)
}

// Open implements attempt.Jobs.
func (y *yard) Open(_ context.Context, f domain.File) (*os.File, error) {
	file, err := os.Open(filepath.Join(y.dir, f.Spec.Path))
	if errors.Is(err, fs.ErrNotExist) {
		err = &store.Error{Code: store.CodeNotFound, Err: err}
	}
	return file, err
}

// Stranded implements Stranded: the tables show all entries that wait, as if they were behind.
func (y *yard) Stranded(ctx context.Context, after compute.ID, _ int) (rows []query.EntryRow, err error) {
	ids, err := y.Store.EntryIDs(ctx)
	for _, id := range append(ids.Waiting, ids.Owned...) {
		at, err := y.Store.LoadEntry(ctx, id)
		if err != nil {
			return nil, err
		}
		if id > after {
			rows = append(rows, query.EntryRow{ID: string(id), Key: at.State.Work.Key})
		}
	}
	return rows, err
}

// is compares the state of an entry, with the code of its reason.
func (y *yard) is(id compute.ID, state entry.State, code domain.Code) {
	y.Helper()
	at, err := y.Store.LoadEntry(y.Context(), id)
	got := domain.Code("")
	if at.State.Reason != nil {
		got = at.State.Reason.Code
	}
	if err != nil || at.State.State != state || got != code {
		y.Errorf("the entry is %s (%s), %v; want %s (%s)", at.State.State, got, err, state, code)
	}
}

// TestStepsOfJobsAreWorkedOn: a worker has copies of the files of a job, in their order.
func TestStepsOfJobsAreWorkedOn(t *testing.T) {
	t.Parallel()
	y := newYard(t, `cat {in} > {out}; rm -f {in}`)
	y.w.next(t.Context())
	y.is(y.id, entry.Successful, "")
	if got := string(y.kept.of[y.id].Result); got != `"first second"` {
		t.Errorf("%s", got)
	}
	if left, err := os.ReadDir(y.dir); err != nil || len(left) != 2 {
		t.Errorf("the command has removed %v, %v", left, err)
	}
}

// TestStepsOfDamagedFiles: a file that is not what was downloaded is no input, and its
// depositor cannot do anything about it.
func TestStepsOfDamagedFiles(t *testing.T) {
	t.Parallel()
	for content, code := range map[string]domain.Code{"other": domain.CodeDigestMismatch, "": validate.CodeMissing} {
		y := newYard(t, `cat {in} > {out}`)
		err := os.Remove(filepath.Join(y.dir, "b.txt"))
		if err == nil && content != "" {
			err = os.WriteFile(filepath.Join(y.dir, "b.txt"), []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		y.w.next(t.Context())
		y.is(y.id, entry.Pending, code)
		if at, err := y.Store.LoadEntry(t.Context(), y.id); err != nil || at.State.Reason.Class != domain.ClassSystem {
			t.Errorf("%+v, %v", at.State.Reason, err)
		}
	}
}

// TestStepsOfForeignFiles: a worker gets files of the job only.
func TestStepsOfForeignFiles(t *testing.T) {
	t.Parallel()
	y := newYard(t, `cat {in} > {out}`)
	own := y.hashes[0]
	y.files(domain.NewJobID(99), map[string]string{})
	y.Walk(y.job, domain.JobRecording)
	y.Fail(y.job, domain.JobRecording)
	y.w.next(t.Context()) // no job waits for the first one
	_, jobs := y.Started(5)
	y.job = jobs[0]
	y.Walk(y.job, domain.JobProcessing)
	id := y.requested(0, own)
	y.w.next(t.Context())
	y.is(id, entry.Failed, domain.CodeBadFile)
	if _, kept := y.kept.of[id]; kept {
		t.Error("a worker had the file of another job")
	}
}

// TestStepsThatNoJobWaitsFor: a worker ends the entry that it takes, and the leader one that
// waits; the entry for which a job waits stays.
func TestStepsThatNoJobWaitsFor(t *testing.T) {
	t.Parallel()
	leave := map[string]func(y *yard){
		"failed": func(y *yard) {
			y.DoJob(y.job, domain.CancelJob{Reason: domain.Reason{Class: domain.ClassCancelled, Code: domain.CodeCancelled, Message: "enough"}}, storetest.Operator())
		},
		"requeued": func(y *yard) {
			y.Fail(y.job, domain.JobProcessing)
			y.DoJob(y.job, domain.RequeueJob{}, storetest.Operator())
		},
		"gone on": func(y *yard) { y.Walk(y.job, domain.JobRecording) },
	}
	for name, ends := range leave {
		for by, act := range map[string]func(y *yard) error{
			"worker": func(y *yard) error { y.w.next(t.Context()); return nil },
			"leader": func(y *yard) error { return y.leader.Strand(t.Context()) },
		} {
			t.Run(name+" "+by, func(t *testing.T) {
				t.Parallel()
				y := newYard(t, `cat {in} > {out}`)
				if err := y.leader.Strand(t.Context()); err != nil {
					t.Fatal(err)
				}
				y.is(y.id, entry.Pending, "")
				if t.Failed() {
					return // a worker would wait for it
				}
				ends(y)
				if err := act(y); err != nil {
					t.Fatal(err)
				}
				y.is(y.id, entry.Failed, compute.CodeJobMoved)
				if len(y.kept.of) > 0 {
					t.Error("it was worked on")
				}
			})
		}
	}

	// A worker with a session that has it ends it.
	y := newYard(t, `cat {in} > {out}`)
	taken := y.take(y.id)
	leave["failed"](y)
	if err := y.leader.Strand(t.Context()); err != nil {
		t.Fatal(err)
	}
	y.is(y.id, entry.Staging, "")
	if _, err := y.w.Handler.EndEntry(t.Context(), taken, compute.Complete{Result: entry.Result{SHA256: hexOf("1"), Size: 1}}, meta()); err != nil {
		t.Error(err)
	}
}

// TestWorkersOfStepsThatNoJobWaitsFor: a worker with a session stops its command and ends the
// entry; one with a lease loses it to the leader.
func TestWorkersOfStepsThatNoJobWaitsFor(t *testing.T) {
	t.Parallel()
	cancel := domain.CancelJob{Reason: domain.Reason{Class: domain.ClassCancelled, Code: domain.CodeCancelled, Message: "enough"}}
	pipe := filepath.Join(t.TempDir(), "started")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	y := newYard(t, "echo > "+pipe+"; exec sleep 600")
	ended := make(chan struct{})
	go func() { y.w.next(t.Context()); close(ended) }()
	if _, err := os.ReadFile(pipe); err != nil { // when the command has begun
		t.Fatal(err)
	}
	y.DoJob(y.job, cancel, storetest.Operator())
	<-ended
	y.is(y.id, entry.Failed, compute.CodeJobMoved)
	if len(y.kept.of) > 0 {
		t.Error("a result is kept")
	}

	y = newYard(t, "")
	lease := eventstore.Lease{Worker: "node7/1", SHA256: hexOf("a secret"), Timeout: time.Minute}
	taken, err := y.Handler.LeaseEntry(t.Context(), compute.Wants{PassLimit: compute.PassLimit}, lease, meta())
	if err != nil {
		t.Fatal(err)
	}
	if err := y.leader.Strand(t.Context()); err != nil {
		t.Fatal(err)
	}
	y.is(y.id, entry.Staging, "")
	y.DoJob(y.job, cancel, storetest.Operator())
	if err := y.leader.Strand(t.Context()); err != nil {
		t.Fatal(err)
	}
	y.is(y.id, entry.Failed, compute.CodeJobMoved)
	_, err = y.Handler.EndLease(t.Context(), taken.State.ID, lease.SHA256, compute.Complete{Result: entry.Result{SHA256: hexOf("1"), Size: 1}}, meta())
	if !errors.Is(err, eventstore.ErrFenced) {
		t.Errorf("the late worker gets %v", err)
	}
}

// TestStepsOfGoneJobs: a job that is deleted leaves no entry.
func TestStepsOfGoneJobs(t *testing.T) {
	t.Parallel()
	y := newYard(t, `cat {in} > {out}`)
	y.Live = gone{y.Live}
	y.leader.Handler.Live = y.Live
	if err := y.leader.Strand(t.Context()); err != nil {
		t.Fatal(err)
	}
	y.is(y.id, entry.Failed, compute.CodeJobMoved)
}

type gone struct{ eventstore.Live }

// Job implements eventstore.Live.
func (gone) Job(_ context.Context, id domain.JobID) (at eventstore.Loaded[domain.Job], err error) {
	return at, &eventstore.Error{Op: "read", Aggregate: id.Aggregate(), Err: eventstore.ErrNotFound}
}

var (
	_ attempt.Jobs = (*yard)(nil)
	_ Stranded     = (*yard)(nil)
)
