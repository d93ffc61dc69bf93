package projections_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/query"
)

// world makes up legal histories: it asks the domain for random commands and
// records what is decided, so that every event may follow the ones before it.
type world struct {
	t        testing.TB
	rnd      *rand.Rand
	now      time.Time
	batches  map[domain.BatchID]domain.Batch
	jobs     map[domain.JobID]domain.Job
	settings map[string]domain.Setting
	files    map[domain.FileHash]domain.File
	asked    map[domain.QueryID]int64 // versions of queries, as they are projected
	slotted  map[string]int           // changes of slots, as they are projected
	worked   map[compute.ID]int64     // versions of entries, as they are projected
	found    []domain.FileHash        // in the order of their discovery
	ofBatch  map[domain.BatchID][]domain.JobID
	open     []domain.BatchID // batches that are not deleted
	nextBID  int64
	nextJID  int64
	maxRows  int
	// collection is the one of the profile.
	collection string
	// ticket is that of batches which join a deposit queue next, nil = they do not.
	ticket *domain.Ticket
	log    []domain.Recorded
}

func newWorld(t testing.TB, seed uint64) *world {
	return &world{t: t, rnd: rand.New(rand.NewPCG(seed, 7)), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		batches: map[domain.BatchID]domain.Batch{}, jobs: map[domain.JobID]domain.Job{}, settings: map[string]domain.Setting{},
		files: map[domain.FileHash]domain.File{}, ofBatch: map[domain.BatchID][]domain.JobID{}, nextBID: 1, nextJID: 1, maxRows: 6, collection: "maps"}
}

// history fills a world with n events or a few more; those after the first set
// the timeouts and the deposit queues, in which some batches wait.
func history(t testing.TB, seed uint64, n int) *world {
	w := newWorld(t, seed)
	w.step()
	rnd := w.rnd
	w.rnd = rand.New(rand.NewPCG(seed, 8)) // what follows does not depend on these
	w.timeouts()
	w.timeouts()
	w.queueSettings()
	w.profiles()
	w.directories()
	now := w.now
	w.deposits(900)
	w.queries()
	w.slots()
	w.entries()
	w.now = now
	more := len(w.log) - 1
	for w.rnd = rnd; len(w.log) < n+more; {
		w.step()
	}
	return w
}

func (w *world) step() {
	switch p := w.rnd.IntN(100); {
	case len(w.open) == 0 || p < 6 && len(w.open) < 12:
		id := domain.NewBatchID(w.nextBID)
		w.nextBID++
		w.batches[id] = domain.Batch{ID: id}
		w.open = append(w.open, id)
		w.batch(id, domain.SubmitBatch{Submission: w.submission()})
	case p < 10:
		w.setting()
	case p < 13:
		w.findFile()
	case p < 35:
		w.moveFile()
	case p < 55:
		w.moveBatch(w.open[w.rnd.IntN(len(w.open))])
	default:
		if jobs := w.ofBatch[w.open[w.rnd.IntN(len(w.open))]]; len(jobs) > 0 {
			w.moveJob(jobs[w.rnd.IntN(len(jobs))])
		}
	}
}

func (w *world) submission() domain.Submission {
	return domain.Submission{ProfileName: "maps", Submitter: fmt.Sprintf("user%d", w.rnd.IntN(3)), PayloadURL: "http://files.test/é|b.checkm",
		ErcWhat: `a "title" \ <&>`, Type: domain.TypeBatchManifest, SubmissionMode: "add", FileName: "b.checkm", Size: w.rnd.Int64N(1000),
		SubmissionID: "sub-1", Queue: "maps", User: "eve@library", Received: domain.At(w.now), Slot: "2026-03", Primary: "ark:/99999/fk4x",
		LocalIDs: []string{"loc 1"}, ProfileVersion: "6f1c", KeySHA256: "ab"}
}

func (w *world) moveBatch(id domain.BatchID) {
	b := w.batches[id]
	why := &domain.Reason{Class: domain.ClassCancelled, Code: "asked", Message: "an operator asked"}
	commands := []domain.BatchCommand{
		domain.BeginReport{}, domain.BeginReport{}, domain.RequestUpdate{Reason: why}, domain.ReleaseBatch{},
		domain.HoldBatch{Reason: *domain.Held("maps", domain.Hold{By: "eve"})},
		domain.ListBatch{Listing: domain.Listing{Rows: 1 + w.rnd.IntN(w.maxRows), FirstJID: domain.NewJobID(w.nextJID), ManifestURL: "file:m"}},
		domain.NoteDelivery{Channel: "mail", About: "report", Delivery: "d1", Delivered: w.rnd.IntN(2) == 0},
		domain.StartBatch{},
	}
	if w.rnd.IntN(6) == 0 {
		commands = append(commands, domain.StartBatch{Problem: &domain.Reason{Class: domain.ClassContent, Code: domain.CodeManifestInvalid, Message: "line 3", Attempt: 1, Worker: "w"}})
	}
	if w.rnd.IntN(10) == 0 {
		commands = append(commands, domain.DeleteBatch{Reason: why}, domain.CleanBatch{})
	}
	if b.State == domain.BatchReporting || b.State == domain.BatchUpdateReporting {
		commands = append(commands, domain.FinishReport{Report: w.report(b)})
	}
	if b.Listing != nil && b.NextRow < b.Listing.Rows && b.State == domain.BatchPending {
		w.createJob(b)
		return
	}
	w.batch(id, commands[w.rnd.IntN(len(commands))])
	if w.batches[id].State == domain.BatchDeleted && b.State != domain.BatchDeleted {
		w.dropBatch(id, b.State)
	}
}

// dropBatch ends a batch: a deleted one takes its jobs along, a cleaned one not.
func (w *world) dropBatch(id domain.BatchID, was domain.BatchState) {
	w.open = slices.DeleteFunc(w.open, func(o domain.BatchID) bool { return o == id })
	if was != domain.BatchCompleted {
		for _, j := range w.ofBatch[id] {
			w.job(j, domain.DeleteJobWithBatch{})
		}
	}
}

func (w *world) report(b domain.Batch) domain.Report {
	var good, bad []domain.JobID
	for _, id := range w.ofBatch[b.ID] {
		switch w.jobs[id].State {
		case domain.JobCompleted:
			good = append(good, id)
		case domain.JobFailed:
			bad = append(bad, id)
		}
	}
	prev := b.Report
	if b.State == domain.BatchReporting {
		prev = nil
	}
	return domain.NewReport(good, bad, prev, domain.At(w.now))
}

func (w *world) createJob(b domain.Batch) {
	id := b.Listing.FirstJID.Plus(b.NextRow)
	w.nextJID = max(w.nextJID, id.Number()+1)
	w.jobs[id] = domain.Job{ID: id}
	w.ofBatch[b.ID] = append(w.ofBatch[b.ID], id)
	cfg := domain.Configuration{BatchID: b.ID, ProfileName: "maps", Submitter: b.Submission.Submitter, PayloadURL: "http://files.test/a",
		PayloadType: domain.TypeObjectManifest, ResponseType: "json", SubmissionMode: "add", WorkingDir: string(id),
		FileName: fmt.Sprintf("row%d.checkm", b.NextRow), Row: b.NextRow, ObjectKey: "o-1", ProfileVersion: "6f1c", Host: "files.test"}
	if w.rnd.IntN(8) == 0 {
		cfg.RowFault = &domain.Reason{Class: domain.ClassContent, Code: domain.CodeRowFault, Message: "bad URL", Attempt: 1}
	}
	var local []string
	if w.rnd.IntN(2) == 0 {
		local = []string{"loc 1", `loc "2", {x}`}[:w.rnd.IntN(3)]
	}
	b.NextRow++
	w.batches[b.ID] = b
	w.job(id, domain.CreateJob{Configuration: cfg, Identifiers: domain.Identifiers{LocalID: local},
		Metadata: domain.Metadata{ErcWho: "someone"}, Priority: w.rnd.IntN(100)})
}

func (w *world) moveJob(id domain.JobID) {
	j := w.jobs[id]
	fail := domain.FailJob{Reason: domain.Reason{Class: domain.ClassSystem, Code: "http_status", Message: "503", Attempt: j.RetryCount + 1, Worker: "w1", Host: "files.test"}}
	hold := domain.HoldJob{Reason: domain.Reason{Class: domain.ClassWait, Code: domain.CodeHeldByOperator, Message: "wait"}}
	forward := map[domain.JobState][]domain.JobCommand{
		domain.JobPending:      {domain.AcceptJob{}, domain.AcceptJob{}, domain.AcceptJob{}, hold, fail},
		domain.JobHeld:         {domain.ReleaseJob{}, domain.ReleaseJob{}, domain.DeleteJob{}},
		domain.JobEstimating:   {domain.EstimateJob{Files: 2, Unknown: 1, Bytes: 7, Priority: j.Priority}},
		domain.JobProvisioning: {domain.ProvisionJob{}, domain.WaitJob{Reason: domain.Reason{Class: domain.ClassWait, Code: domain.CodeSpaceShort, Message: "no space"}}},
		domain.JobDownloading:  {domain.DownloadJob{Files: 2, Bytes: 9, Priority: min(j.Priority+1, 99)}, fail},
		domain.JobProcessing: {domain.IdentifyJob{Identifiers: domain.Identifiers{Primary: "ark:/99999/" + string(id), LocalID: j.Identifiers.LocalID}, Minted: true},
			domain.ProcessJob{Object: domain.StoredObject{Primary: "ark:/99999/x", Version: 1, ManifestKey: "k", Files: 2, Bytes: 9}}, fail},
		domain.JobRecording: {domain.RecordJob{}, domain.RecordJob{}, fail},
		domain.JobNotify:    {domain.CompleteJob{Callback: "none"}, domain.CompleteJob{Callback: "delivered"}, fail},
		domain.JobFailed:    {domain.RequeueJob{}, domain.RequeueJob{}, domain.RequeueJob{}, domain.DeleteJob{}},
		domain.JobCompleted: {domain.CleanJob{}},
	}[j.State]
	if w.rnd.IntN(12) == 0 {
		forward = []domain.JobCommand{domain.ReprioritiseJob{Priority: w.rnd.IntN(100)}}
	}
	if len(forward) > 0 {
		w.job(id, forward[w.rnd.IntN(len(forward))])
	}
}

func (w *world) setting() {
	kind, name := domain.HoldCollection, "maps"
	if w.rnd.IntN(3) > 0 {
		kind, name = domain.HoldQueue, domain.QueueIngest
	}
	w.change(kind, name, func(s domain.Setting) (domain.Decision, error) {
		var hold *domain.Hold
		if s.Hold == nil {
			hold = &domain.Hold{By: "eve", When: domain.At(w.now), Why: "stock-taking"}
		}
		return domain.DecideHold(s, hold, "because")
	})
}

// timeouts sets the timeouts: first one of them, then the other too.
func (w *world) timeouts() {
	w.change(domain.SettingTimeouts, domain.TimeoutsFiles, func(s domain.Setting) (domain.Decision, error) {
		t := domain.Timeouts{ProcessingSeconds: s.Version + 60}
		if s.Version > 0 {
			t.DownloadSeconds = s.Version
		}
		return domain.DecideTimeouts(s, t, "because")
	})
}

// profiles sets what a profile says twice, and removes that of another.
func (w *world) profiles() {
	for i, c := range []struct {
		name string
		set  bool
	}{{"maps", true}, {"films", true}, {"maps", true}, {"films", false}} {
		w.change(domain.SettingProfile, c.name, func(s domain.Setting) (domain.Decision, error) {
			sum := strings.Repeat(fmt.Sprintf("%02x", i), 32)
			p := &domain.Profile{Version: sum[:12], SHA256: sum}
			if !c.set {
				p = nil
			}
			return domain.DecideSetting(s, domain.SettingValue{Profile: p}, "because")
		})
	}
}

// directories sets a dataset and two discoveries, changes one, and removes the other.
func (w *world) directories() {
	for _, c := range []struct {
		kind domain.SettingKind
		name string
		to   domain.SettingValue
	}{
		{domain.SettingDataset, "nights", domain.SettingValue{Dataset: &domain.Dataset{Collection: "maps", Profile: "maps", GroupPattern: "^([0-9]+)"}}},
		{domain.SettingDiscovery, "nights", domain.SettingValue{Discovery: &domain.Discovery{URL: "https://data.example.org/night/", Dataset: "nights", EverySeconds: 300, NewerThan: domain.At(w.now)}}},
		{domain.SettingDiscovery, "days", domain.SettingValue{Discovery: &domain.Discovery{URL: "https://data.example.org/day/", Dataset: "nights", EverySeconds: 300}}},
		{domain.SettingDiscovery, "nights", domain.SettingValue{Discovery: &domain.Discovery{URL: "https://data.example.org/night/", Dataset: "nights", EverySeconds: 300, Paused: true}}},
		{domain.SettingDiscovery, "days", domain.SettingValue{}},
	} {
		w.change(c.kind, c.name, func(s domain.Setting) (domain.Decision, error) { return domain.DecideSetting(s, c.to, "because") })
	}
}

// queueSettings sets each kind of setting of the deposit queues, and removes one.
func (w *world) queueSettings() {
	three := 3
	for _, c := range []struct {
		kind domain.SettingKind
		name string
		to   domain.SettingValue
	}{
		{domain.SettingDepositQueue, "query", domain.SettingValue{DepositQueue: &domain.DepositQueue{Suspended: true, Prohibited: []string{}}}},
		{domain.SettingUserLimit, domain.UserLimitName("query", "a.b"), domain.SettingValue{UserLimit: &domain.UserLimit{Allocation: &three}}},
		{domain.SettingProcessor, "query-films", domain.SettingValue{Processor: &domain.Processor{Users: []string{"a.b"}, MaxSize: 9}}},
		{domain.SettingUserLimit, domain.UserLimitName("query", "a.b"), domain.SettingValue{}},
	} {
		w.change(c.kind, c.name, func(s domain.Setting) (domain.Decision, error) { return domain.DecideSetting(s, c.to, "because") })
	}
}

func (w *world) change(kind domain.SettingKind, name string, decide func(domain.Setting) (domain.Decision, error)) {
	a := domain.SettingAggregate(kind, name)
	s, ok := w.settings[a.ID]
	if !ok {
		s = domain.Setting{Kind: kind, Name: name}
	}
	dec, err := decide(s)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range w.record(dec.Events, "") {
		if s, err = domain.EvolveSetting(s, r); err != nil {
			w.t.Fatal(err)
		}
	}
	w.settings[a.ID] = s
}

func (w *world) hold() *domain.Hold {
	return w.settings[domain.SettingAggregate(domain.HoldCollection, "maps").ID].Hold
}

// batch decides and folds a batch's command; a refusal changes nothing.
func (w *world) batch(id domain.BatchID, cmd domain.BatchCommand) {
	b := w.batches[id]
	f := domain.Facts{Collection: w.collection, CollectionHold: w.hold(), Ticket: w.ticket}
	for _, j := range w.ofBatch[id] {
		switch w.jobs[j].State.Sub() {
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
		return
	}
	for _, r := range w.record(dec.Events, id) {
		if b, err = domain.EvolveBatch(b, r); err != nil {
			w.t.Fatal(err)
		}
	}
	if list, ok := cmd.(domain.ListBatch); ok {
		w.nextJID = list.Listing.FirstJID.Plus(list.Listing.Rows).Number()
	}
	w.batches[id] = b
}

func (w *world) job(id domain.JobID, cmd domain.JobCommand) {
	j := w.jobs[id]
	batch := j.Configuration.BatchID
	if c, ok := cmd.(domain.CreateJob); ok {
		batch = c.Configuration.BatchID
	}
	dec, err := domain.DecideJob(j, cmd, domain.Facts{Collection: w.collection, CollectionHold: w.hold(), Batch: w.batches[batch].State})
	if err != nil {
		return
	}
	for _, r := range w.record(dec.Events, batch) {
		if j, err = domain.EvolveJob(j, r); err != nil {
			w.t.Fatal(err)
		}
	}
	w.jobs[id] = j
}

// record gives events their place, and sends their data through JSON, as the log
// does.
func (w *world) record(events []domain.Event, batch domain.BatchID) []domain.Recorded {
	w.now = w.now.Add(time.Duration(w.rnd.IntN(5000)) * time.Millisecond)
	var out []domain.Recorded
	for _, e := range events {
		data, err := json.Marshal(e.Data)
		if err != nil {
			w.t.Fatal(err)
		}
		def, _ := domain.Lookup(e.Type)
		e.Data = def.New()
		if err := json.Unmarshal(data, e.Data); err != nil {
			w.t.Fatal(err)
		}
		seq := uint64(len(w.log) + len(out) + 1)
		out = append(out, domain.Recorded{Event: e, Time: domain.At(w.now), BatchID: batch, Actor: domain.UserActor("eve"),
			CommandID: fmt.Sprintf("c%d", seq), TraceParent: w.traceparent(seq), Zxid: int64(seq) * 3, Epoch: 1, Seq: seq, Stored: w.now.Add(1234567 * time.Nanosecond)})
	}
	w.log = append(w.log, out...)
	return out
}

// traceparent leaves some events without a trace.
func (w *world) traceparent(seq uint64) string {
	if seq%5 == 0 {
		return ""
	}
	return fmt.Sprintf("00-%032x-%016x-01", seq, seq)
}

// created is when the streams of these tests were made.
var created = time.Date(2026, 3, 1, 0, 0, 0, 123456789, time.UTC)

// config reads a log that does not grow.
func config(db query.DB, log []domain.Recorded) projections.Config {
	return projections.Config{DB: db, Source: sourceOf(log),
		Stream: projections.StreamInfo{Name: "test", Created: created, Last: uint64(len(log))}}
}

func sourceOf(log []domain.Recorded) projections.Source {
	return func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
		return func(yield func(domain.Recorded, error) bool) {
			for _, r := range log[min(from-1, uint64(len(log))):] {
				if ctx.Err() != nil || !yield(r, nil) {
					return
				}
			}
		}
	}
}

func run(t testing.TB, cfg projections.Config) error {
	t.Helper()
	p, err := projections.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p.Run(context.Background())
}
