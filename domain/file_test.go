package domain_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/model"
)

const digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

var (
	theSpec   = domain.FileSpec{Source: string(theJob), Path: "a.tif", BatchID: theBatch, JobID: theJob, URL: "https://example.org/a.tif", Size: 9}
	theFile   = theSpec.Hash()
	three     = domain.Limits{Max: 3, Timeout: time.Minute}
	limits    = domain.FileLimits{Download: three, Processing: three}
	lateOne   = domain.At(noon.Add(time.Minute + time.Millisecond))
	storedAt  = noon.Time
	theOutput = &domain.FileOutput{Key: "k", SHA256: digest, Size: 3}
)

const theFence = 7

// fileIn returns a file in a state, with an attempt of either step made and the
// running one fenced by 7.
func fileIn(s domain.FileState) domain.File {
	if s == domain.FileNone {
		return domain.File{Hash: theFile}
	}
	f := domain.File{Hash: theFile, Version: 7, State: s, Spec: theSpec, Size: 9, DownloadAttempts: 1, ProcessingAttempts: 1,
		DownloadStarted: noon, ProcessingStarted: noon, Failed: noon, Modified: noon, CommandID: "before"}
	if s.Running() {
		f.Fence, f.Worker = theFence, "w-1"
	}
	return f
}

// fileRow is how a row of the life of a file is taken. What it does is in
// [model.FileRows].
type fileRow struct {
	row    string
	from   domain.FileState
	event  domain.EventType
	cmd    domain.FileCommand
	usedUp bool
}

func (r fileRow) to() domain.FileState { return domain.FileState(model.FileRows[r.row].Status) }

// attempts returns how many there are of one step after a row.
func attempts(before int, does string) int {
	switch does {
	case "0":
		return 0
	case "+1":
		return before + 1
	}
	return before
}

var fileRows = []fileRow{
	{"F1", "", "file.discovered", domain.DiscoverFile{Spec: theSpec}, false},
	{"F2", "DISCOVERED", "file.download_started", domain.StartDownload{Worker: "w", Limits: three}, false},
	{"F3", "DISCOVERED", "file.downloaded", domain.FileAlreadyThere{Size: 5, SHA256: digest}, false},
	{"F4", "DOWNLOADING", "file.downloaded", domain.FinishDownload{Fence: theFence, Size: 5, SHA256: digest}, false},
	{"F5", "DOWNLOADING", "file.download_failed", domain.FailDownload{Fence: theFence, Reason: broken, Limits: three}, false},
	{"F6", "DOWNLOADING_FAILED", "file.download_started", domain.StartDownload{Worker: "w", Limits: three}, false},
	{"F7", "DOWNLOADING_FAILED", "file.ignored", domain.RecoverFile{Now: lateOne, Limits: limits}, true},
	{"F8", "DOWNLOADED", "file.download_failed", domain.FailValidation{Reason: broken, Quarantine: "q/1", Limits: three}, false},
	{"F9", "DOWNLOADED", "file.skipped", domain.SkipFile{Reason: broken}, false},
	{"F10", "DOWNLOADED", "file.ready", domain.ReadyFile{}, false},
	{"F11", "READY", "file.processing_started", domain.StartProcessing{Worker: "w"}, false},
	{"F12", "PROCESSING", "file.processed", domain.FinishProcessing{Fence: theFence, Output: theOutput}, false},
	{"F13", "PROCESSING", "file.processing_failed", domain.FailProcessing{Fence: theFence, Reason: broken, Limits: three}, false},
	{"F14", "PROCESSING_FAILED", "file.ready", domain.RetryProcessing{Limits: three}, false},
	{"F15", "PROCESSING_FAILED", "file.abandoned", domain.RecoverFile{Now: lateOne, Limits: limits}, true},
	{"F16", "PROCESSED", "file.processing_failed", domain.AuditFailed{Reason: broken, Limits: three}, false},
	{"O1", "IGNORE", "file.reopened", domain.ReopenFile{Reason: waits}, false},
	{"O2", "ABANDONED", "file.reopened", domain.ReopenFile{Reason: waits}, false},
	{"O3", "SKIPPED", "file.reopened", domain.ReopenFile{Reason: waits}, false},
}

// before returns the file that the row starts from.
func (r fileRow) before() domain.File {
	f := fileIn(r.from)
	if r.usedUp && r.row == "F7" {
		f.DownloadAttempts = 3
	}
	if r.usedUp && r.row == "F15" {
		f.ProcessingAttempts = 3
	}
	return f
}

func TestFileRows(t *testing.T) {
	t.Parallel()
	if len(fileRows) != len(domain.FileTransitions) {
		t.Fatalf("the table has %d rows, want %d", len(domain.FileTransitions), len(fileRows))
	}
	for _, r := range fileRows {
		t.Run(r.row, func(t *testing.T) {
			t.Parallel()
			f := r.before()
			dec, err := domain.DecideFile(f, r.cmd)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(dec.Rows) != "["+r.row+"]" || len(dec.Events) != 1 {
				t.Fatalf("rows %v with %d events, want %s", dec.Rows, len(dec.Events), r.row)
			}
			e := dec.Events[0]
			m, _ := domain.MoveOfFile(e.Data)
			if e.Type != r.event || m.From != r.from || m.To != r.to() || e.Version != f.Version+1 || e.Aggregate != theFile.Aggregate() ||
				m.JobID != theJob || m.Path != "a.tif" {
				t.Errorf("%s %d of %s: %+v", e.Type, e.Version, e.Aggregate, m)
			}
			after, err := domain.EvolveFile(f, stored(e))
			if err != nil {
				t.Fatal(err)
			}
			if after.State != r.to() || after.Version != f.Version+1 || after.CommandID != "now" || after.Spec != theSpec ||
				after.DownloadAttempts != attempts(f.DownloadAttempts, model.FileRows[r.row].Downloads) ||
				after.ProcessingAttempts != attempts(f.ProcessingAttempts, model.FileRows[r.row].Processes) {
				t.Errorf("evolved to %+v", after)
			}
			fence, worker := int64(0), ""
			if after.State.Running() {
				fence, worker = e.Version, "w"
			}
			if after.Fence != fence || after.Worker != worker {
				t.Errorf("fence %d of %q, want %d of %q", after.Fence, after.Worker, fence, worker)
			}
		})
	}
}

// stored is an event that the log took at noon.
func stored(e domain.Event) domain.Recorded {
	r := recorded(e)
	r.Stored = storedAt
	return r
}

func fileStates() []domain.FileState {
	return append([]domain.FileState{domain.FileNone}, domain.FileStates...)
}

// TestFilePairs asks every command in every state: what is no row is refused,
// with the state and what would be possible.
// Shows: P2
func TestFilePairs(t *testing.T) {
	t.Parallel()
	legal := map[string]bool{
		"domain.RecoverFile DOWNLOADING": true, "domain.RecoverFile PROCESSING": true, // F5, F13
	}
	possible := map[domain.FileState][]string{}
	for _, r := range fileRows {
		legal[fmt.Sprintf("%T %s", r.cmd, r.from)] = true
		possible[r.from] = append(possible[r.from], string(r.to()))
	}
	for _, s := range fileStates() {
		for _, r := range fileRows {
			key := fmt.Sprintf("%T %s", r.cmd, s)
			f := fileIn(s)
			if _, ok := r.cmd.(domain.RecoverFile); ok {
				f.DownloadAttempts, f.ProcessingAttempts = 3, 3
			}
			dec, err := domain.DecideFile(f, r.cmd)
			if legal[key] {
				if err != nil {
					t.Errorf("%s: %v", key, err)
				}
				continue
			}
			code := domain.CodeIllegal
			if _, ok := r.cmd.(domain.DiscoverFile); ok {
				code = domain.CodeAlreadyDiscovered
			}
			got := refusal(t, err, code)
			if len(dec.Events) != 0 || got.State != string(s) || got.Aggregate != theFile.Aggregate() || got.Command == "" {
				t.Errorf("%s: refused as %+v with %d events", key, got, len(dec.Events))
			}
			if code == domain.CodeIllegal && fmt.Sprint(got.Possible) != fmt.Sprint(possible[s]) {
				t.Errorf("%s: possible %v, want %v", key, got.Possible, possible[s])
			}
		}
	}
	for _, s := range fileStates() {
		terminal := slices.Contains([]domain.FileState{"IGNORE", "SKIPPED", "PROCESSED", "ABANDONED"}, s)
		if s.Terminal() != terminal {
			t.Errorf("%s is terminal: %t", s, s.Terminal())
		}
	}
}

// TestFileEvents offers every event type between every pair of states.
func TestFileEvents(t *testing.T) {
	t.Parallel()
	legal := map[string]bool{}
	for _, r := range fileRows {
		legal[fmt.Sprintf("%s>%s %s", r.from, r.to(), r.event)] = true
	}
	for _, def := range domain.Registry {
		for _, from := range fileStates() {
			for _, to := range fileStates() {
				f := fileIn(from)
				var data domain.EventData = &domain.FileMoved{FileMove: domain.FileMove{From: from, To: to}}
				if def.Kind != domain.KindFile {
					data = def.New()
				}
				e := domain.Event{Type: def.Type, Aggregate: theFile.Aggregate(), Version: f.Version + 1, Data: data}
				if _, err := domain.EvolveFile(f, stored(e)); (err == nil) != legal[fmt.Sprintf("%s>%s %s", from, to, def.Type)] {
					t.Errorf("%s from %q to %q: %v", def.Type, from, to, err)
				}
			}
		}
	}
}

// TestFileRegistry: every event that the table names is registered for files, and
// file events only have file data.
func TestFileRegistry(t *testing.T) {
	t.Parallel()
	for _, d := range domain.Registry {
		if _, ok := domain.MoveOfFile(d.New()); ok != (d.Kind == domain.KindFile) {
			t.Errorf("%s: its data belongs to another kind", d.Type)
		}
	}
	for _, r := range domain.FileTransitions {
		if d, ok := domain.Lookup(r.Event); !ok || d.Kind != domain.KindFile {
			t.Errorf("%s: %s is not registered", r.Row, r.Event)
		}
	}
}
