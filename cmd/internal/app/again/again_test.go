package again_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/again"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

// world has files and profiles, and nothing else.
type world struct {
	app.LiveState
	app.Effects
	t        *testing.T
	log      eventstore.Log
	files    *files.Handler
	profiles *profile.Set
}

func (w world) FileHandler(context.Context) (*files.Handler, error) { return w.files, nil }
func (w world) Profiles() (*profile.Set, error)                     { return w.profiles, nil }
func (w world) Live(context.Context) (app.Live, error)              { return nil, errors.New("away") }
func (w world) Handler(context.Context) (*eventstore.Handler, error) {
	return nil, errors.New("away")
}

func newWorld(t *testing.T) world {
	t.Helper()
	p, err := profile.Parse("maps.yaml", []byte("name: maps\ncollection: maps\nowner: us\nidentifier: {naan: 99999, shoulder: fk4}\nfetch: {attempts: 3}\n"))
	if err != nil {
		t.Fatal(err)
	}
	log := memory.NewLog(nil)
	return world{t: t, log: log, files: storetest.NewFileHandler(log), profiles: (&profile.Set{}).With(p)}
}

func (w world) app(id string) *app.App {
	return &app.App{Open: app.Resources{LiveState: w, Effects: w}, Actor: "user/maria", Command: &app.Command{ID: id}}
}

type step = func(domain.File) domain.FileCommand

var (
	limits = domain.Limits{Max: 3}
	start  = func(domain.File) domain.FileCommand { return domain.StartDownload{Worker: "w", Limits: limits} }
	fails  = func(f domain.File) domain.FileCommand {
		return domain.FailDownload{Fence: f.Fence, Limits: limits, Reason: domain.WorkerLost("w")}
	}
	ends = func(f domain.File) domain.FileCommand {
		return domain.FinishDownload{Fence: f.Fence, Size: 1, SHA256: strings.Repeat("0", 64)}
	}
	ready   = func(domain.File) domain.FileCommand { return domain.ReadyFile{} }
	process = func(domain.File) domain.FileCommand { return domain.StartProcessing{Worker: "w"} }
	stores  = func(f domain.File) domain.FileCommand { return domain.FinishProcessing{Fence: f.Fence} }
	skips   = func(domain.File) domain.FileCommand {
		return domain.SkipFile{Reason: domain.Reason{Class: domain.ClassCancelled, Code: "unwanted", Message: "it is not wanted"}}
	}
	breaks = func(f domain.File) domain.FileCommand {
		return domain.FailProcessing{Fence: f.Fence, Limits: domain.Limits{Max: 1}, Reason: domain.WorkerLost("w")}
	}
)

// file makes a file of a dataset known, and leads it on.
func (w world) file(spec domain.FileSpec, steps ...step) domain.FileHash {
	w.t.Helper()
	hash := spec.Hash()
	for _, s := range append([]step{func(domain.File) domain.FileCommand { return domain.DiscoverFile{Spec: spec} }}, steps...) {
		f, err := w.files.Load(w.t.Context(), hash)
		if err != nil && !errors.Is(err, eventstore.ErrNotFound) {
			w.t.Fatal(err)
		}
		if _, err := w.files.File(w.t.Context(), hash, s(f), eventstore.Meta{Actor: "daemon/test"}); err != nil {
			w.t.Fatal(err)
		}
	}
	return hash
}

func spec() domain.FileSpec {
	return domain.FileSpec{Source: "https://data.test/nights/", Path: "a.fits", URL: "https://data.test/nights/a.fits", Size: 1, Collection: "maps", Profile: "maps", Dataset: "nights"}
}

// states returns the states of a file behind a version.
func (w world) states(hash domain.FileHash, after int64) (states []string) {
	w.t.Helper()
	at := hash.Aggregate()
	for r, err := range w.log.Read(w.t.Context(), eventstore.ReadOptions{Aggregate: &at}) {
		if err != nil {
			w.t.Fatal(err)
		}
		if m, _ := domain.MoveOfFile(r.Data); r.Version > after {
			states = append(states, string(m.To))
		}
	}
	return states
}

// TestFilesThatAreDoneAgain: from each state the table's own rows lead a file back, a dry run
// says the same and writes nothing, and the command that is given again changes nothing more.
func TestFilesThatAreDoneAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do    func(context.Context, *app.App, domain.FileHash, string) (app.Changed, error)
		steps []step
		row   string
		to    []string
	}{
		"downloaded":                 {again.Redownload, []step{start, ends}, "F8", []string{"DOWNLOADING_FAILED"}},
		"downloaded at the last try": {again.Redownload, []step{start, fails, start, fails, start, ends}, "F8, F7, O1", []string{"DOWNLOADING_FAILED", "IGNORE", "DISCOVERED"}},
		"given up":                   {again.Redownload, []step{start, fails, start, fails, start, fails}, "O1", []string{"DISCOVERED"}},
		"skipped":                    {again.Redownload, []step{start, ends, skips}, "O3, F8", []string{"DOWNLOADED", "DOWNLOADING_FAILED"}},
		"processed":                  {again.Reprocess, []step{start, ends, ready, process, stores}, "F16, F15, O2", []string{"PROCESSING_FAILED", "ABANDONED", "READY"}},
		"not to be processed":        {again.Abandon, []step{start, ends, ready}, "F11, F13, F15", []string{"PROCESSING", "PROCESSING_FAILED", "ABANDONED"}},
		"abandoned":                  {again.Reprocess, []step{start, ends, ready, process, breaks}, "O2", []string{"READY"}},
	} {
		w := newWorld(t)
		hash := w.file(spec(), c.steps...)
		before, err := w.files.Load(t.Context(), hash)
		if err != nil {
			t.Fatal(err)
		}
		for _, dry := range []bool{true, false, false} {
			a := w.app("once")
			a.DryRun = dry
			got, err := c.do(t.Context(), a, hash, "it was changed")
			if err != nil || got.State != c.to[len(c.to)-1] || got.Version != before.Version+int64(len(c.to)) {
				t.Fatalf("%s, dry %v: %+v, %v", name, dry, got, err)
			}
			if states := w.states(hash, before.Version); dry && len(states) > 0 || !dry && !slices.Equal(states, c.to) {
				t.Errorf("%s, dry %v: %v", name, dry, states)
			}
			if got.Row != c.row && got.Row != "" || dry && got.Row == "" {
				t.Errorf("%s, dry %v: rows %q", name, dry, got.Row)
			}
		}
	}
}

// TestCutOffCommandGoesOn: a command that was killed between two changes ends what it began.
func TestCutOffCommandGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hash := w.file(spec(), start, ends, ready, process, stores)
	reason := domain.Reason{Class: domain.ClassWait, Code: "reprocess_requested", Message: "a better algorithm"}
	if _, err := w.files.File(t.Context(), hash, domain.FailOutput{Reason: reason}, eventstore.Meta{Actor: "user/maria", CommandID: "once/PROCESSED"}); err != nil {
		t.Fatal(err)
	}
	a := w.app("once")
	a.Command.IfVersion = 6 // as of before the first change
	if got, err := again.Reprocess(t.Context(), a, hash, "a better algorithm"); err != nil || got.State != "READY" || got.Row != "O2" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestWhatIsNotDoneAgain: files on their way, of jobs, of another version, without a reason.
func TestWhatIsNotDoneAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	is := func(err error, kind app.Kind, says string) {
		t.Helper()
		var e *app.Error
		if !errors.As(err, &e) || e.Kind != kind || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s: %s", err, kind, says)
		}
	}
	hash := w.file(spec(), start, ends, ready)
	_, err := again.Redownload(t.Context(), w.app("a"), hash, "it was changed")
	is(err, app.Refused, "is READY")
	_, err = again.Reprocess(t.Context(), w.app("b"), hash, "a better algorithm")
	is(err, app.Refused, "is READY")
	_, err = again.Abandon(t.Context(), w.app("g"), w.file(domain.FileSpec{Source: "s", Path: "p"}, start, ends), "too late")
	is(err, app.Refused, "is DOWNLOADED")
	_, err = again.Reprocess(t.Context(), w.app("c"), hash, "  ")
	is(err, app.Invalid, "needs a reason")
	_, err = again.Redownload(t.Context(), w.app("d"), domain.HashFile("x", "y"), "it was changed")
	is(err, app.NotFound, "there is no such file")
	job := storetest.FileSpec(1)
	_, err = again.Redownload(t.Context(), w.app("e"), w.file(job, start, ends), "it was changed")
	is(err, app.Refused, "it belongs to the job "+string(job.JobID))
	other := spec()
	other.Path = "b.fits"
	hash = w.file(other, start, ends)
	a := w.app("f")
	a.Command.IfVersion = 2
	_, err = again.Redownload(t.Context(), a, hash, "it was changed")
	is(err, app.Outdated, "it has version 3, not 2")
}
