package domain_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/model"
)

// batchRow is how a row of the batch workflow is taken, and what it requires. Where it
// leads to is in [model.BatchRows].
type batchRow struct {
	row     string
	from    domain.BatchState
	event   domain.EventType
	cmd     domain.BatchCommand
	facts   domain.Facts
	require domain.Require
}

func (r batchRow) to() domain.BatchState { return domain.BatchState(model.BatchRows[r.row].Status) }

var (
	held    = domain.Facts{Collection: "maps", CollectionHold: &onHold}
	success = domain.Facts{Completed: 2}
	failure = domain.Facts{Completed: 1, Failed: 1}
	settled = domain.Require{Empty: []domain.Sub{domain.SubProcessing}}
	clean   = domain.Require{Empty: []domain.Sub{domain.SubProcessing, domain.SubFailed}}
	report  = domain.FinishReport{Report: domain.NewReport([]domain.JobID{theJob}, nil, nil, noon)}
)

var batchRows = []batchRow{
	{"B1", "", "batch.submitted", domain.SubmitBatch{Submission: domain.Submission{ProfileName: "p"}}, domain.Facts{}, domain.Require{}},
	{"B2", "pending", "batch.held", domain.HoldBatch{Reason: *domain.Held("maps", onHold)}, held, domain.Require{Holds: true}},
	{"B3", "pending", "batch.started", domain.StartBatch{}, domain.Facts{}, domain.Require{}},
	{"B4", "held", "batch.released", domain.ReleaseBatch{}, domain.Facts{}, domain.Require{Holds: true}},
	{"B5", "processing", "batch.reporting", domain.BeginReport{}, success, settled},
	{"B6", "reporting", "batch.completed", report, success, clean},
	{"B7", "reporting", "batch.failed", report, failure, domain.Require{}},
	{"B8", "failed", "batch.update_requested", domain.RequestUpdate{}, failure, settled},
	{"B9", "update-reporting", "batch.completed", report, success, clean},
	{"B10", "update-reporting", "batch.failed", report, failure, domain.Require{}},
	{"B11", "failed", "batch.deleted", domain.DeleteBatch{}, domain.Facts{}, domain.Require{Unlocked: true, Empty: []domain.Sub{domain.SubProcessing}}},
	{"B12", "held", "batch.deleted", domain.DeleteBatch{}, domain.Facts{}, domain.Require{Unlocked: true}},
	{"B13", "completed", "batch.cleaned", domain.CleanBatch{}, domain.Facts{}, domain.Require{Unlocked: true}},
	{"B14", "failed", "batch.cleaned", domain.CleanBatch{}, domain.Facts{Failed: 1}, domain.Require{Unlocked: true, Empty: []domain.Sub{domain.SubProcessing}}},
}

// before returns the batch that the row starts from.
func (r batchRow) before() domain.Batch {
	b := batchIn(r.from)
	if r.row == "B2" {
		b.Listing, b.NextRow = nil, 0
	}
	return b
}

func TestBatchRows(t *testing.T) {
	t.Parallel()
	if n := len(domain.BatchTransitions); n != len(batchRows) || n != len(model.BatchRows) {
		t.Fatalf("the table has %d rows, want %d and %d", n, len(batchRows), len(model.BatchRows))
	}
	for _, r := range batchRows {
		t.Run(r.row, func(t *testing.T) {
			t.Parallel()
			b := r.before()
			dec, err := domain.DecideBatch(b, r.cmd, r.facts)
			if err != nil {
				t.Fatal(err)
			}
			if dec.Row != r.row || !reflect.DeepEqual(dec.Require, r.require) {
				t.Errorf("row %s requiring %+v, want %s requiring %+v", dec.Row, dec.Require, r.row, r.require)
			}
			if len(dec.Events) != 1 {
				t.Fatalf("%d events, want 1", len(dec.Events))
			}
			e := dec.Events[0]
			m, _ := domain.MoveOfBatch(e.Data)
			if e.Type != r.event || m.From != r.from || m.To != r.to() || e.Version != b.Version+1 || e.Aggregate != theBatch.Aggregate() {
				t.Errorf("%s %d of %s from %q to %q", e.Type, e.Version, e.Aggregate, m.From, m.To)
			}
			after, err := domain.EvolveBatch(b, recorded(e))
			if err != nil {
				t.Fatal(err)
			}
			if after.State != r.to() || after.Version != b.Version+1 || after.CommandID != "now" || after.Modified != noon {
				t.Errorf("evolved to %+v", after)
			}
		})
	}
}

// TestBatchPairs asks every command in every state: what is no row is refused,
// with the state and what would be possible.
// Shows: P2
func TestBatchPairs(t *testing.T) {
	t.Parallel()
	legal := map[string]bool{}
	possible := map[domain.BatchState][]string{}
	commands := []domain.BatchCommand{
		domain.ListBatch{Listing: domain.Listing{Rows: 1, FirstJID: theJob}}, domain.NoteDelivery{Channel: "mail"},
	}
	facts := map[string]domain.Facts{}
	for _, r := range batchRows {
		legal[fmt.Sprintf("%T %s", r.cmd, r.from)] = true
		if !slices.Contains(possible[r.from], string(r.to())) {
			possible[r.from] = append(possible[r.from], string(r.to()))
		}
		commands = append(commands, r.cmd)
		facts[fmt.Sprintf("%T %s", r.cmd, r.from)] = r.facts
	}
	for _, s := range batchStates() {
		for _, cmd := range commands {
			key := fmt.Sprintf("%T %s", cmd, s)
			want := legal[key]
			b := batchIn(s)
			switch cmd.(type) {
			case domain.HoldBatch:
				b.Listing = nil
			case domain.ListBatch:
				b.Listing, want = nil, s == domain.BatchPending
			case domain.NoteDelivery:
				want = s != domain.BatchNone && s != domain.BatchDeleted
			}
			dec, err := domain.DecideBatch(b, cmd, facts[key])
			if want {
				if err != nil {
					t.Errorf("%s: %v", key, err)
				}
				continue
			}
			r := refusal(t, err, domain.CodeIllegal)
			if len(dec.Events) != 0 || r.State != string(s) || r.Aggregate != theBatch.Aggregate() || r.Command == "" {
				t.Errorf("%s: refused as %+v with %d events", key, r, len(dec.Events))
			}
			if fmt.Sprint(r.Possible) != fmt.Sprint(possible[s]) {
				t.Errorf("%s: possible %v, want %v", key, r.Possible, possible[s])
			}
		}
	}
}

// TestBatchEvents offers every event type between every pair of states.
func TestBatchEvents(t *testing.T) {
	t.Parallel()
	legal := map[string]bool{}
	for _, r := range batchRows {
		legal[fmt.Sprintf("%s>%s %s", r.from, r.to(), r.event)] = true
	}
	for _, def := range domain.Registry {
		for _, from := range batchStates() {
			for _, to := range batchStates() {
				b, m := batchIn(from), domain.BatchMove{From: from, To: to}
				var data domain.EventData = &domain.BatchMoved{BatchMove: m}
				if def.Kind != domain.KindBatch {
					data = def.New()
				}
				e := domain.Event{Type: def.Type, Aggregate: theBatch.Aggregate(), Version: b.Version + 1, Data: data}
				want := legal[fmt.Sprintf("%s>%s %s", from, to, def.Type)] ||
					from == to && (def.Type == domain.EventBatchListed || def.Type == domain.EventBatchReported || def.Type == domain.EventBatchRepaired)
				if _, err := domain.EvolveBatch(b, recorded(e)); (err == nil) != want {
					t.Errorf("%s from %q to %q: %v", def.Type, from, to, err)
				}
			}
		}
	}
}

func TestBatchGuards(t *testing.T) {
	t.Parallel()
	unlisted, halfMade := batchIn(domain.BatchPending), batchIn(domain.BatchPending)
	unlisted.Listing, unlisted.NextRow = nil, 0
	halfMade.NextRow = 1
	busy := domain.Facts{Processing: 1, Failed: 1, Completed: 1}
	locked := domain.Facts{Open: []domain.JobID{theJob}, Locked: []domain.JobID{theJob}}
	many := domain.Facts{Open: make([]domain.JobID, domain.MaxIdle+1)}
	for name, c := range map[string]struct {
		b     domain.Batch
		cmd   domain.BatchCommand
		facts domain.Facts
		code  domain.Code
	}{
		"hold without a hold":              {unlisted, domain.HoldBatch{}, domain.Facts{}, "not_on_hold"},
		"hold after listing":               {halfMade, domain.HoldBatch{}, held, "not_on_hold"},
		"list on hold":                     {unlisted, domain.ListBatch{Listing: domain.Listing{Rows: 1, FirstJID: theJob}}, held, domain.CodeCollectionHeld},
		"list twice":                       {halfMade, domain.ListBatch{Listing: domain.Listing{Rows: 1, FirstJID: theJob}}, domain.Facts{}, "already_listed"},
		"list nothing":                     {unlisted, domain.ListBatch{Listing: domain.Listing{FirstJID: theJob}}, domain.Facts{}, "empty_listing"},
		"list without an id":               {unlisted, domain.ListBatch{Listing: domain.Listing{Rows: 1}}, domain.Facts{}, "empty_listing"},
		"start before listing":             {unlisted, domain.StartBatch{}, domain.Facts{}, "jobs_missing"},
		"start half made":                  {halfMade, domain.StartBatch{}, domain.Facts{}, "jobs_missing"},
		"start listed with a problem":      {halfMade, domain.StartBatch{Problem: &broken}, domain.Facts{}, "jobs_exist"},
		"release on hold":                  {batchIn(domain.BatchHeld), domain.ReleaseBatch{}, held, domain.CodeCollectionHeld},
		"report while processing":          {batchIn(domain.BatchProcessing), domain.BeginReport{}, busy, "jobs_processing"},
		"finish while processing":          {batchIn(domain.BatchReporting), report, busy, "jobs_processing"},
		"finish an update while processed": {batchIn(domain.BatchUpdateReporting), report, busy, "jobs_processing"},
		"update while processing":          {batchIn(domain.BatchFailed), domain.RequestUpdate{}, busy, "jobs_processing"},
		"delete while one is worked on":    {batchIn(domain.BatchFailed), domain.DeleteBatch{}, locked, domain.CodeJobsLocked},
		"delete with too many under way":   {batchIn(domain.BatchFailed), domain.DeleteBatch{}, many, "jobs_processing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := domain.DecideBatch(c.b, c.cmd, c.facts)
			if r := refusal(t, err, c.code); r.Message == "" || r.State != string(c.b.State) {
				t.Errorf("refused as %+v", r)
			}
		})
	}
}

// TestBadManifest walks a batch whose manifest is bad: it is reported as failed
// however often, keeps saying why, and never completes.
func TestBadManifest(t *testing.T) {
	t.Parallel()
	b := batchIn(domain.BatchPending)
	b.Listing, b.NextRow = nil, 0
	asked := &domain.Reason{Class: domain.ClassCancelled, Code: "asked", Message: "please look again"}
	for _, step := range []struct {
		cmd domain.BatchCommand
		row string
	}{
		{domain.StartBatch{Problem: &broken}, "B3"}, {domain.BeginReport{}, "B5"}, {report, "B7"},
		{domain.NoteDelivery{Channel: "mail", About: "report", Delivered: true}, ""},
		{domain.RequestUpdate{Reason: asked}, "B8"}, {report, "B10"},
	} {
		dec, err := domain.DecideBatch(b, step.cmd, domain.Facts{})
		if err != nil {
			t.Fatal(err)
		}
		if dec.Row != step.row {
			t.Fatalf("%T took row %q, want %q", step.cmd, dec.Row, step.row)
		}
		if b, err = domain.EvolveBatch(b, recorded(dec.Events[0])); err != nil {
			t.Fatal(err)
		}
		if b.Reason == nil || *b.Reason != broken && *b.Reason != *broken.Final() {
			t.Fatalf("after %T the reason is %v", step.cmd, b.Reason)
		}
	}
}

// TestUpdateReport: why somebody asked again does not decide the answer, and an
// update without one completed job is no success.
func TestUpdateReport(t *testing.T) {
	t.Parallel()
	b := batchIn(domain.BatchFailed)
	dec, err := domain.DecideBatch(b, domain.RequestUpdate{Reason: &domain.Reason{Class: domain.ClassCancelled, Code: "asked", Message: "mended"}}, failure)
	if err != nil {
		t.Fatal(err)
	}
	if b, err = domain.EvolveBatch(b, recorded(dec.Events[0])); err != nil {
		t.Fatal(err)
	}
	for row, facts := range map[string]domain.Facts{"B9": success, "B10": {}} {
		if dec, err := domain.DecideBatch(b, report, facts); err != nil || dec.Row != row {
			t.Errorf("with %+v: row %s (%v), want %s", facts, dec.Row, err, row)
		}
	}
}

// TestDeletingWithOpenJobs: jobs that were sent back to work and are not worked on
// go with their batch; that they are idle must hold in the write.
func TestDeletingWithOpenJobs(t *testing.T) {
	t.Parallel()
	open := []domain.JobID{theJob, theJob.Plus(1)}
	dec, err := domain.DecideBatch(batchIn(domain.BatchFailed), domain.DeleteBatch{}, domain.Facts{Open: open})
	if want := (domain.Require{Unlocked: true, Idle: open}); err != nil || !reflect.DeepEqual(dec.Require, want) {
		t.Errorf("requires %+v (%v), want %+v", dec.Require, err, want)
	}
}

// TestCleaningOnRequest: who cleans up says why, and a cleaned batch is known by
// its code either way.
func TestCleaningOnRequest(t *testing.T) {
	t.Parallel()
	for why, want := range map[string]string{"": "cleaned up after its retention time", "the disk is full": "cleaned up on request: the disk is full"} {
		dec, err := domain.DecideBatch(batchIn(domain.BatchCompleted), domain.CleanBatch{Why: why}, domain.Facts{})
		if err != nil {
			t.Fatal(err)
		}
		if m, _ := domain.MoveOfBatch(dec.Events[0].Data); m.Reason.Message != want || m.Reason.Code != domain.CodeCleaned {
			t.Errorf("%q: %+v", why, m.Reason)
		}
	}
}

// TestToldWithTheMove: the fate of a message follows the move that it told of, in
// the same decision, and a refused move notes nothing.
func TestToldWithTheMove(t *testing.T) {
	t.Parallel()
	told := &domain.NoteDelivery{Channel: "mail", About: "report", Delivery: "k", Delivered: true}
	b := batchIn(domain.BatchReporting)
	cmd := report
	cmd.Mailed = told
	dec, err := domain.DecideBatch(b, cmd, domain.Facts{Completed: 1})
	if err != nil || len(dec.Events) != 2 {
		t.Fatalf("%+v, %v", dec, err)
	}
	data, ok := dec.Events[1].Data.(*domain.BatchReported)
	if !ok || data.From != domain.BatchCompleted || data.To != data.From || !data.Delivered || data.Delivery != "k" {
		t.Errorf("noted %+v", dec.Events[1].Data)
	}
	before := b.Version
	for i, e := range dec.Events {
		if e.Version != before+1+int64(i) || e.Aggregate != b.ID.Aggregate() {
			t.Errorf("event %d is version %d of %s", i, e.Version, e.Aggregate)
		}
		if b, err = domain.EvolveBatch(b, recorded(e)); err != nil {
			t.Fatal(err)
		}
	}
	if dec, err := domain.DecideBatch(b, cmd, domain.Facts{Completed: 1}); err == nil || len(dec.Events) != 0 {
		t.Errorf("a second report noted %+v, %v", dec.Events, err)
	}
}

// A failed batch is cleaned up by its retention time alone, and not while a job of it is
// processing again; an operator deletes it.
func TestCleanUpOfFailedBatches(t *testing.T) {
	t.Parallel()
	b := batchIn(domain.BatchFailed)
	_, err := domain.DecideBatch(b, domain.CleanBatch{}, domain.Facts{Processing: 1})
	refusal(t, err, domain.CodeJobsProcessing)
	_, err = domain.DecideBatch(b, domain.CleanBatch{Why: "space is short"}, domain.Facts{})
	refusal(t, err, domain.CodeIllegal)
}
