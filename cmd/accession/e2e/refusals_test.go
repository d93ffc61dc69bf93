package e2e

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// asking is an operator's command about one thing.
type asking struct {
	what string // how the answer begins
	verb string // as the refusal of the rules names it
	do   func(ctx context.Context, a *app.App, id string) (app.Changed, error)
}

const send = "send the report of"

var askings = map[domain.Kind][]asking{
	domain.KindBatch: {
		{"release", "release", func(ctx context.Context, a *app.App, id string) (app.Changed, error) {
			return a.ReleaseBatch(ctx, domain.BatchID(id), "why not")
		}},
		{"update-report", "update-report", func(ctx context.Context, a *app.App, id string) (app.Changed, error) {
			return a.RequestUpdate(ctx, domain.BatchID(id), "why not")
		}},
		{"delete", "delete", func(ctx context.Context, a *app.App, id string) (app.Changed, error) {
			return a.DeleteBatch(ctx, domain.BatchID(id), "why not")
		}},
		{"clean up", "clean up", func(ctx context.Context, a *app.App, id string) (app.Changed, error) {
			return a.CleanBatch(ctx, domain.BatchID(id), "why not")
		}},
		{send, "", func(ctx context.Context, a *app.App, id string) (app.Changed, error) {
			return a.SendReport(ctx, domain.BatchID(id), "why not")
		}},
	},
	domain.KindJob: {
		{"hold", "hold", func(ctx context.Context, a *app.App, id string) (app.Changed, error) {
			return a.HoldJob(ctx, domain.JobID(id), "why not")
		}},
		{"release", "release", func(ctx context.Context, a *app.App, id string) (app.Changed, error) {
			return a.ReleaseJob(ctx, domain.JobID(id), "why not")
		}},
		{"requeue", "requeue", func(ctx context.Context, a *app.App, id string) (app.Changed, error) {
			return a.Requeue(ctx, domain.JobID(id), "why not")
		}},
		{"fail", "fail", func(ctx context.Context, a *app.App, id string) (app.Changed, error) {
			return a.FailJob(ctx, domain.JobID(id), "why not")
		}},
		{"delete", "delete", func(ctx context.Context, a *app.App, id string) (app.Changed, error) {
			return a.DeleteJob(ctx, domain.JobID(id), "why not")
		}},
		{"change the priority of", "reprioritise", func(ctx context.Context, a *app.App, id string) (app.Changed, error) {
			return a.Reprioritise(ctx, domain.JobID(id), 7, "why not")
		}},
	},
	domain.KindFile: {
		{"requeue", "reopen", func(ctx context.Context, a *app.App, id string) (app.Changed, error) {
			return a.RequeueFile(ctx, domain.FileHash(id), "why not")
		}},
		{"skip", "skip", func(ctx context.Context, a *app.App, id string) (app.Changed, error) {
			return a.SkipFile(ctx, domain.FileHash(id), "why not")
		}},
	},
}

// state is what operators read of a thing in a state: what can become of it,
// and what they can do. ID stands for its name.
type state struct{ possible, hint string }

const onItsWay = "it is being processed: `accession job fail ID` ends it; `accession queue pause` pauses its queue"

var stated = map[domain.Kind]map[string]state{
	domain.KindBatch: {
		"pending": {"held, processing", "its jobs are being made: `accession batch show ID` shows how far it is; `accession collection hold` holds its jobs"},
		"held":    {"pending, deleted", "`accession batch release ID` releases it, `accession batch delete ID` deletes it"},
		"processing": {"reporting",
			"its jobs are being processed: `accession batch show ID` shows how far they are"},
		"reporting":        {"completed, failed", "wait until its report is made"},
		"update-reporting": {"completed, failed", "wait until its report is made"},
		"failed": {"update-reporting, deleted",
			"`accession job requeue` requeues its failed jobs, then `accession batch update-report ID`; `accession batch delete ID` deletes it"},
		"completed": {"deleted", "`accession batch cleanup ID` removes it from the live state"},
		"deleted":   {"", "`accession batch report ID` shows what became of it"},
	},
	domain.KindJob: {
		"pending":      {"held, estimating, failed", "`accession job hold ID` holds it, `accession job fail ID` ends it"},
		"held":         {"pending, deleted, failed", "`accession job release ID` releases it, `accession job delete ID` deletes it"},
		"estimating":   {"provisioning, failed", onItsWay},
		"provisioning": {"downloading, failed", onItsWay},
		"downloading":  {"processing, failed", onItsWay},
		"processing":   {"recording, failed", onItsWay},
		"recording":    {"notify, failed", onItsWay},
		"notify":       {"completed, failed", onItsWay},
		"failed":       {"downloading, processing, recording, notify, deleted, pending", "`accession job requeue ID` requeues it, `accession job delete ID` deletes it"},
		"completed":    {"", "it is done; `accession job show ID` shows where its object is"},
	},
	domain.KindFile: {
		"DISCOVERED":         {"DOWNLOADING, DOWNLOADED", fileComes},
		"DOWNLOADING":        {"DOWNLOADED, DOWNLOADING_FAILED", fileComes},
		"DOWNLOADING_FAILED": {"DOWNLOADING, IGNORE", fileComes},
		"DOWNLOADED":         {"DOWNLOADING_FAILED, SKIPPED, READY", "`accession file skip ID` skips it"},
		"IGNORE":             {"DISCOVERED", fileAgain},
		"SKIPPED":            {"DOWNLOADED", fileAgain},
		"ABANDONED":          {"READY", fileAgain},
		"READY":              {"PROCESSING", fileWorks},
		"PROCESSING":         {"PROCESSED, PROCESSING_FAILED", fileWorks},
		"PROCESSING_FAILED":  {"READY, ABANDONED", fileWorks},
		"PROCESSED":          {"PROCESSING_FAILED", "it is done; `accession file show ID` shows where its result is"},
	},
}

const (
	fileComes = "it is being downloaded: `accession file show ID` shows how far; once it is DOWNLOADED, `accession file skip ID` skips it"
	fileAgain = "`accession file requeue ID` requeues it"
	fileWorks = "it is being processed: wait until it is PROCESSED, or ABANDONED and can be requeued"
)

// row is the answer to a command that is possible: the row that it would take, ""
// = the state would stay.
type row string

// no is the answer to one that is refused for a reason of its own.
type no struct{ text, hint string }

// expected are the answers that are not just that the state does not allow it, by the
// words with which the answer begins.
type expected map[string]any

// endsJob has the commands that end a job in any state before completed and failed.
var endsJob = map[string]bool{"fail": true, "delete": true}

// asked about one thing in one state, everything that an operator can ask for must
// be answered as written here. What is refused is refused when it is tried and when
// it is meant, and changes nothing.
func (s *scene) answers(kind domain.Kind, id, in string, special expected) {
	s.t.Helper()
	s.takes(string(kind) + " " + in)
	tree, end := s.dump(), s.logEnd()
	about := stated[kind][in]
	for _, q := range askings[kind] {
		want, given := special[q.what]
		if !given && kind == domain.KindJob && endsJob[q.what] && (in == "held" || domain.JobState(in).Worked()) {
			want, given = row("J24"), true
		}
		if !given {
			text := string(kind) + "/" + id + " is " + in + ": " + q.verb + " is not possible"
			if about.possible != "" {
				text += " (possible from here: " + about.possible + ")"
			}
			want = no{text, about.hint}
			if q.what == send {
				why := in + ", and its report is not made yet"
				if in == string(domain.BatchDeleted) {
					why = "deleted; `accession report batch --batch ID --format mail` makes a report from the history"
				}
				want = no{"batch/ID cannot have its report sent again: it is " + why, "`accession batch show ID` shows how far it is"}
			}
		}
		tried := *s.app
		tried.DryRun = true
		c, err := q.do(s.ctx(), &tried, id)
		if r, possible := want.(row); possible {
			if err != nil || c.Row != string(r) || !c.DryRun {
				s.t.Errorf("%s %s, which is %s: %+v, %v; want row %q", q.what, id, in, c, err, r)
			}
			continue
		}
		s.refused(q.what+" "+id, id, want.(no), err)
		_, err = q.do(s.ctx(), s.app, id)
		s.refused(q.what+" "+id, id, want.(no), err)
	}
	for what := range special {
		if !knows(kind, what) {
			s.t.Errorf("nobody can ask to %s a %s", what, kind)
		}
	}
	if d := cmp.Diff(tree, s.dump()); d != "" || s.logEnd() != end {
		s.t.Errorf("what was refused for %s, which is %s, changed something:\n%s", id, in, d)
	}
}

func knows(kind domain.Kind, what string) bool {
	for _, q := range askings[kind] {
		if q.what == what {
			return true
		}
	}
	return false
}

// refused checks the words of a refusal and of its hint.
func (s *scene) refused(what, id string, want no, err error) {
	s.t.Helper()
	var e *app.Error
	if !errors.As(err, &e) {
		s.t.Errorf("%s: %v, want a refusal: %s", what, err, want.text)
		return
	}
	text := func(t string) string { return strings.ReplaceAll(t, "ID", id) }
	if d := cmp.Diff(no{what + ": " + text(want.text), text(want.hint)}, no{err.Error(), e.Hint}, cmp.AllowUnexported(no{})); d != "" {
		s.t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func (s *scene) logEnd() uint64 {
	s.t.Helper()
	s.shown() // what is committed is in the log
	end, err := s.app.LogEnd(s.ctx())
	if err != nil {
		s.t.Fatal(err)
	}
	return end
}

// works lets a daemon work until the log has n events of the types.
func (s *scene) works(name string, n int, types ...domain.EventType) {
	s.t.Helper()
	stop := s.only(name)
	s.installation.seen(n, types...)
	stop()
}

// effect checks what a command would bring with it.
func (s *scene) effect(do func(context.Context, *app.App) (app.Changed, error), want string) {
	s.t.Helper()
	tried := *s.app
	tried.DryRun = true
	c, err := do(s.ctx(), &tried)
	if err != nil || len(c.Effects) != 1 || c.Effects[0] != want {
		s.t.Errorf("%v, %q, want %q", err, c.Effects, want)
	}
}

// claimed holds the lock of a job while do runs.
func (s *scene) claimed(id domain.JobID, do func()) {
	s.t.Helper()
	store, err := s.wired.LiveState(s.ctx())
	if err != nil {
		s.t.Fatal(err)
	}
	claim, _, err := store.ClaimJob(s.ctx(), id)
	if err != nil || claim == nil {
		s.t.Fatalf("claim %s: %v", id, err)
	}
	do()
	if err := store.Release(s.ctx(), claim, 0); err != nil {
		s.t.Fatal(err)
	}
}

// TestEveryRefusal asks for every operators' command in every state.
// Shows: P2
func TestEveryRefusal(t *testing.T) {
	t.Parallel()
	states := map[string]bool{"job deleted": true}
	for _, st := range domain.BatchStates {
		states["batch "+string(st)] = true
	}
	for _, st := range domain.JobStates {
		states["job "+string(st)] = true
	}
	for _, st := range domain.FileStates {
		states["file "+string(st)] = true
	}
	var mu sync.Mutex
	asked := map[string]bool{}
	t.Run("scenes", func(t *testing.T) {
		for name, play := range map[string]func(*scene){
			"batches and jobs": refuseBatchesAndJobs, "files": refuseFiles, "deposits, collections and queues": refuseTheRest,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				play(&scene{installation: newInstallation(t), model: newModel(), takes: func(state string) {
					mu.Lock()
					defer mu.Unlock()
					asked[state] = true
				}})
			})
		}
	})
	if !t.Failed() {
		sameNames(t, "asked about", states, asked)
	}
}

// cut deletes a batch as a command does that is interrupted after its first write.
func (s *scene) cut(id domain.BatchID) {
	s.t.Helper()
	handler, err := s.wired.Handler(s.ctx())
	if err == nil {
		_, err = handler.Batch(s.ctx(), id, domain.CleanBatch{}, eventstore.Meta{Actor: "user/test"})
	}
	if err != nil {
		s.t.Fatal(err)
	}
}
