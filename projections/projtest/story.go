package projtest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/query"
)

// Story makes up a history by asking the domain: every event in it may follow the
// ones before. Times are made up too, so that a story is always the same.
type Story struct {
	T   testing.TB
	Log []domain.Recorded
	Now time.Time // of the next decision; Step is added after each
	// Step is one second.
	Step time.Duration
	// Actor is who does what comes next.
	Actor domain.Actor
	// Warnings are those about the manifests of the next batches.
	Warnings []string

	Batches map[domain.BatchID]domain.Batch
	Jobs    map[domain.JobID]domain.Job
	Files   map[domain.FileHash]domain.File
	order   []domain.FileHash
}

// NewStory begins one on 1 March 2026, at noon.
func NewStory(t testing.TB) *Story {
	return &Story{T: t, Now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Step: time.Second, Actor: domain.DaemonActor("test"),
		Batches: map[domain.BatchID]domain.Batch{}, Jobs: map[domain.JobID]domain.Job{}, Files: map[domain.FileHash]domain.File{}}
}

// TryBatch decides and folds a batch's command; what is refused changes nothing.
func (s *Story) TryBatch(id domain.BatchID, cmd domain.BatchCommand) error {
	b := s.Batches[id]
	b.ID = id
	f := domain.Facts{Collection: "maps"}
	for _, j := range s.Jobs {
		if j.Configuration.BatchID != id {
			continue
		}
		switch j.State.Sub() {
		case domain.SubProcessing:
			f.Processing++
		case domain.SubFailed:
			f.Failed++
		case domain.SubCompleted:
			f.Completed++
		}
	}
	dec, err := domain.DecideBatch(b, cmd, f)
	if err != nil {
		return err
	}
	for _, r := range s.record(dec.Events, id) {
		if b, err = domain.EvolveBatch(b, r); err != nil {
			s.T.Fatal(err)
		}
	}
	s.Batches[id] = b
	return nil
}

// TryJob does it for a job.
func (s *Story) TryJob(id domain.JobID, cmd domain.JobCommand) error {
	j := s.Jobs[id]
	j.ID = id
	batch := j.Configuration.BatchID
	if c, ok := cmd.(domain.CreateJob); ok {
		batch = c.Configuration.BatchID
	}
	dec, err := domain.DecideJob(j, cmd, domain.Facts{Collection: "maps", Batch: s.Batches[batch].State})
	if err != nil {
		return err
	}
	for _, r := range s.record(dec.Events, batch) {
		if j, err = domain.EvolveJob(j, r); err != nil {
			s.T.Fatal(err)
		}
	}
	s.Jobs[id] = j
	return nil
}

// TryFile does it for a file.
func (s *Story) TryFile(id domain.FileHash, cmd domain.FileCommand) error {
	f, known := s.Files[id]
	f.Hash = id
	dec, err := domain.DecideFile(f, cmd)
	if err != nil {
		return err
	}
	batch := f.Spec.BatchID
	if d, ok := cmd.(domain.DiscoverFile); ok {
		batch = d.Spec.BatchID
	}
	for _, r := range s.record(dec.Events, batch) {
		if f, err = domain.EvolveFile(f, r); err != nil {
			s.T.Fatal(err)
		}
	}
	if !known {
		s.order = append(s.order, id)
	}
	s.Files[id] = f
	return nil
}

// Batch does to a batch what must succeed.
func (s *Story) Batch(id domain.BatchID, commands ...domain.BatchCommand) {
	s.T.Helper()
	for _, c := range commands {
		if err := s.TryBatch(id, c); err != nil {
			s.T.Fatal(err)
		}
	}
}

// Job does it to a job.
func (s *Story) Job(id domain.JobID, commands ...domain.JobCommand) {
	s.T.Helper()
	for _, c := range commands {
		if err := s.TryJob(id, c); err != nil {
			s.T.Fatal(err)
		}
	}
}

// File does it to a file.
func (s *Story) File(id domain.FileHash, commands ...domain.FileCommand) {
	s.T.Helper()
	for _, c := range commands {
		if err := s.TryFile(id, c); err != nil {
			s.T.Fatal(err)
		}
	}
}

// Submit begins a batch of n jobs, all of them made.
func (s *Story) Submit(id domain.BatchID, first domain.JobID, n int, sub domain.Submission) {
	s.T.Helper()
	if sub.ProfileName == "" {
		sub.ProfileName, sub.Type, sub.SubmissionMode = "maps", domain.TypeBatchManifest, "add"
	}
	s.Batch(id, domain.SubmitBatch{Submission: sub}, domain.ListBatch{Listing: domain.Listing{Rows: n, FirstJID: first}, Warnings: s.Warnings})
	for i := range n {
		s.Job(first.Plus(i), domain.CreateJob{Priority: domain.PriorityDefault, Configuration: domain.Configuration{
			BatchID: id, ProfileName: sub.ProfileName, Submitter: sub.Submitter, PayloadType: sub.Type.PayloadType(), ResponseType: "json",
			SubmissionMode: "add", WorkingDir: string(first.Plus(i)), PayloadURL: fmt.Sprintf("https://files.test/object-%02d.checkm", i+1),
			FileName: fmt.Sprintf("object-%02d.checkm", i+1), Row: i}})
	}
	b := s.Batches[id]
	b.NextRow = n // kept in ZooKeeper, not in events
	s.Batches[id] = b
	s.Batch(id, domain.StartBatch{})
}

// Discover makes a file of a job known.
func (s *Story) Discover(job domain.JobID, path string, size int64) domain.FileHash {
	s.T.Helper()
	spec := domain.FileSpec{Source: string(job), Path: path, JobID: job, BatchID: s.Jobs[job].Configuration.BatchID,
		URL: "https://files.test/" + path, Size: size}
	s.File(spec.Hash(), domain.DiscoverFile{Spec: spec})
	return spec.Hash()
}

// record numbers events, and sends their data through JSON, as the log
// does.
func (s *Story) record(events []domain.Event, batch domain.BatchID) []domain.Recorded {
	var out []domain.Recorded
	for _, e := range events {
		data, err := json.Marshal(e.Data)
		if err != nil {
			s.T.Fatal(err)
		}
		def, _ := domain.Lookup(e.Type)
		e.Data = def.New()
		if err := json.Unmarshal(data, e.Data); err != nil {
			s.T.Fatal(err)
		}
		seq := uint64(len(s.Log) + len(out) + 1)
		out = append(out, domain.Recorded{Event: e, Time: domain.At(s.Now), BatchID: batch, Actor: s.Actor, CommandID: fmt.Sprintf("c%d", seq),
			TraceParent: fmt.Sprintf("00-%032x-%016x-01", seq, seq), Zxid: int64(seq), Epoch: 1, Seq: seq, Stored: s.Now.Add(time.Millisecond), Source: "/accession/test"})
	}
	s.Log = append(s.Log, out...)
	s.Now = s.Now.Add(s.Step)
	return out
}

// Random goes on for n events, with batches of few jobs and few files each, most of
// what is asked leading on.
func (s *Story) Random(seed uint64, n int) {
	rnd := rand.New(rand.NewPCG(seed, 11))
	why := domain.Reason{Class: domain.ClassSystem, Code: domain.CodeWorkerLost, Message: "=it() <is> \"gone\"", Attempt: 1, Worker: "w1"}
	l := domain.Limits{Max: 2, Timeout: time.Hour}
	next, end := int64(len(s.Jobs)+1), len(s.Log)+n
	sum := strings.Repeat("ab", 32)
	for len(s.Log) < end {
		switch job := domain.NewJobID(1 + rnd.Int64N(max(next-1, 1))); {
		case next == 1 || rnd.IntN(60) == 0:
			rows := 1 + rnd.IntN(5)
			s.Submit(domain.NewBatchID(int64(len(s.Batches)+1)), domain.NewJobID(next), rows, domain.Submission{Submitter: fmt.Sprintf("user%d", rnd.IntN(3))})
			next += int64(rows)
		case rnd.IntN(10) == 0:
			s.Discover(job, fmt.Sprintf("f%d.tif", len(s.order)), rnd.Int64N(100))
		case rnd.IntN(2) == 0 && len(s.order) > 0:
			id := s.order[rnd.IntN(len(s.order))]
			fence := s.Files[id].Fence
			commands := []domain.FileCommand{domain.StartDownload{Worker: "w1", Limits: l}, domain.FinishDownload{Fence: fence, Size: 9, SHA256: sum},
				domain.FailDownload{Fence: fence, Reason: why, Limits: l}, domain.ReadyFile{}, domain.SkipFile{Reason: why}, domain.StartProcessing{Worker: "w2"},
				domain.FinishProcessing{Fence: fence, Output: &domain.FileOutput{Key: "k", SHA256: sum, Size: 3}}, domain.FailProcessing{Fence: fence, Reason: why, Limits: l}, domain.RetryProcessing{Limits: l}}
			_ = s.TryFile(id, commands[rnd.IntN(len(commands))])
		case rnd.IntN(12) == 0:
			commands := []domain.BatchCommand{domain.BeginReport{}, domain.DeleteBatch{Reason: &why}, domain.RequestUpdate{Reason: &why}}
			_ = s.TryBatch(s.Jobs[job].Configuration.BatchID, commands[rnd.IntN(len(commands))])
		default:
			commands := []domain.JobCommand{domain.AcceptJob{Warnings: []string{"line 2: one", "line 3: two"}[:rnd.IntN(3)]}, domain.EstimateJob{Files: 2, Bytes: 7, Priority: 5}, domain.ProvisionJob{}, domain.DownloadJob{Files: 2, Bytes: 9, Priority: 5},
				domain.ProcessJob{Object: domain.StoredObject{Primary: "ark:/99999/x", Version: 1, ManifestKey: "k", Files: 2, Bytes: 9}}, domain.RecordJob{}, domain.CompleteJob{Callback: "none"},
				domain.FailJob{Reason: why}, domain.RequeueJob{}, domain.DeleteJob{}}
			_ = s.TryJob(job, commands[rnd.IntN(len(commands))])
		}
	}
}

// Project applies the story to the tables.
func (s *Story) Project(db query.DB) {
	s.T.Helper()
	p, err := projections.New(projections.Config{DB: db, Source: func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
		return func(yield func(domain.Recorded, error) bool) {
			for _, r := range s.Log[min(from-1, uint64(len(s.Log))):] {
				if ctx.Err() != nil || !yield(r, nil) {
					return
				}
			}
		}
	}, Stream: projections.StreamInfo{Name: "story", Created: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Last: uint64(len(s.Log))}})
	if err == nil {
		err = p.Run(context.Background())
	}
	if err != nil {
		s.T.Fatal(err)
	}
}
