package daemon

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/limits"
	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// stepOf is a daemon with another step.
func stepOf(name string, step func(context.Context, *JobTask) Outcome) Daemon {
	d := daemonNamed(name)
	d.jobStep = func(_ *steps, ctx context.Context, t *JobTask) Outcome { return step(ctx, t) }
	return d
}

func (w *fixture) aJobIn(state domain.JobState) domain.JobID {
	w.Helper()
	w.web.serve("/a.txt", "a")
	return w.jobIn(state, domain.TypeFile, "/a.txt")
}

// A worker whose session is lost writes nothing, whatever its step says, and the
// job is free for others.
// Shows: P5
func TestLostClaimWritesNothing(t *testing.T) {
	t.Parallel()
	for name, out := range map[string]Outcome{
		"next":  nextJob(domain.DownloadJob{Files: 1}),
		"fail":  fail(domain.Reason{Class: domain.ClassSystem, Code: reason.CodeInternal}),
		"wait":  wait(domain.Reason{Code: domain.CodeSpaceShort}, 0),
		"retry": retry(domain.Reason{}, &fetch.Error{Temporary: true}, 1),
		"ours":  {verb: verbTrouble},
	} {
		for _, sees := range []bool{true, false} { // whether the step heard of it
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t, noRecords)
				id := w.aJobIn(domain.JobDownloading)
				before := w.job(id)
				w.turnOf(stepOf(domain.DaemonJobDownloading, func(ctx context.Context, task *JobTask) Outcome {
					w.mem.Expire(w.store)
					if sees {
						<-ctx.Done()
						if err := task.Keep(ctx, domain.WaitJob{}); !errors.Is(err, context.Canceled) {
							t.Errorf("a write after the end: %v", err)
						}
					}
					return out
				}))
				if after := w.job(id); after.Version != before.Version {
					t.Errorf("job moved to %+v", after)
				}
				w.turn(domain.DaemonJobDownloading)
				w.wantJob(id, domain.JobProcessing, "")
			})
		}
	}
}

// A successor's claim survives what the worker before it does late.
// Shows: P5
func TestLateWorkerLeavesTheSuccessorAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	id := w.aJobIn(domain.JobDownloading)
	other := w.mem.Session()
	w.turnOf(stepOf(domain.DaemonJobDownloading, func(context.Context, *JobTask) Outcome {
		w.mem.Expire(w.store)
		if _, _, err := other.ClaimJob(t.Context(), id); err != nil {
			t.Error(err)
		}
		return nextJob(domain.DownloadJob{Files: 1})
	}))
	if _, _, err := w.store.ClaimJob(t.Context(), id); !errors.Is(err, eventstore.ErrLocked) {
		t.Errorf("the successor's lock is gone: %v", err)
	}
}

// A panic fails the job; where work cannot fail it is set aside, with a reason.
func TestPanic(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		daemon string
		state  domain.JobState
		ends   domain.JobState
	}{
		{domain.DaemonJobPending, domain.JobPending, domain.JobPending},
		{domain.DaemonJobEstimating, domain.JobEstimating, domain.JobEstimating},
		{domain.DaemonJobProvisioning, domain.JobProvisioning, domain.JobProvisioning},
		{domain.DaemonJobDownloading, domain.JobDownloading, domain.JobFailed},
		{domain.DaemonJobProcessing, domain.JobProcessing, domain.JobFailed},
	} {
		t.Run(c.daemon, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, noRecords)
			id := w.aJobIn(c.state)
			d := stepOf(c.daemon, func(context.Context, *JobTask) Outcome { panic("a secret") })
			w.turnOf(d)
			j := w.wantJob(id, c.ends, reason.CodePanic)
			class := domain.ClassSystem
			if c.ends != domain.JobFailed {
				class = domain.ClassWait
			}
			if j.Reason.Class != class || strings.Contains(j.Reason.Message, "secret") || !strings.Contains(w.log.String(), "a secret") {
				t.Errorf("%+v\n%s", j.Reason, w.log)
			}
			if c.ends != domain.JobFailed { // others go on behind it, and it is tried again much later
				w.aJobIn(c.state)
				w.turn(c.daemon)
				w.clock.Advance(asideDelay)
				w.turn(c.daemon)
				if w.job(id).State == c.state {
					t.Error("not tried again")
				}
			}
		})
	}
}

// Nothing of a turn stays behind it: what waits for the end of its claim has ended.
func TestTurnLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	w.aJobIn(domain.JobDownloading)
	label := t.Name() // goroutines have it from those that begin them
	pprof.Do(t.Context(), pprof.Labels("of", label), func(context.Context) {
		w.turnOf(stepOf(domain.DaemonJobDownloading, func(context.Context, *JobTask) Outcome { return release(nil) }))
	})
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		t.Fatal(err)
	}
	for g := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(g, `"of":"`+label+`"`) && strings.Contains(g, "(*turn).run") {
			t.Errorf("left behind:\n%s", g)
		}
	}
}

// A job whose workers keep dying is stopped; one that is handed back is not.
func TestClaimsUsedUp(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	id := w.aJobIn(domain.JobDownloading)
	none := func(name string) Daemon {
		return stepOf(name, func(context.Context, *JobTask) Outcome { return release(nil) })
	}
	for range 2 * maxClaims {
		w.turnOf(none(domain.DaemonJobDownloading))
		w.clock.Advance(time.Second)
	}
	w.wantJob(id, domain.JobDownloading, "")
	die := func(n int) {
		for range n {
			if _, _, err := w.store.NextJob(t.Context(), w.job(id).State, nil); err != nil {
				t.Fatal(err)
			}
			w.mem.Expire(w.store)
		}
	}
	die(maxClaims)
	w.turn(domain.DaemonJobDownloading)
	if j := w.wantJob(id, domain.JobFailed, domain.CodeClaimsUsedUp); j.Reason == nil || j.Reason.Class != domain.ClassSystem {
		t.Errorf("%+v", j.Reason)
	}

	id = w.aJobIn(domain.JobEstimating)
	die(maxClaims)
	w.turn(domain.DaemonJobEstimating)
	w.wantJob(id, domain.JobEstimating, domain.CodeClaimsUsedUp)
}

// Our own side never fails a job, also by an error of unknown kind: it waits, uses nothing
// up, and says so once. A depositor's server fails it after the attempts of the profile, and
// an object store that has something else than its object after a few.
// Shows: P18
func TestTroubleWaits(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	id := w.aJobIn(domain.JobDownloading)
	turn := func(out Outcome) {
		w.turnOf(stepOf(domain.DaemonJobDownloading, func(context.Context, *JobTask) Outcome { return out }))
		w.clock.Advance(time.Hour)
	}
	steps := w.r.steps
	for n, err := range []error{&store.Error{Code: store.CodeDiskFull}, &store.Error{Code: store.CodeNotFound}, &record.Error{Code: record.CodeBroken},
		&fetch.Error{Code: fetch.CodeUnreachable, Class: domain.ClassSystem, Temporary: true, Ours: true}, errors.New("ill"), context.DeadlineExceeded} {
		ill := steps.errorOutcome(err, "")
		for range 3 * maxTries {
			turn(release(errors.New("away")))
			turn(ill)
		}
		if j := w.wantJob(id, domain.JobDownloading, ill.reason.Code); j.Reason.Class != domain.ClassWait {
			t.Errorf("after %v it waits as %+v", err, j.Reason)
		}
		if told := count(w.events(id.Aggregate()), domain.EventJobWaiting); told != n+1 {
			t.Errorf("after %v %d events say that it waits", err, told)
		}
	}
	w.r.tries.Done(id.Aggregate())
	theirs := retry(domain.Reason{Class: domain.ClassContent, Code: fetch.CodeUnreachable, Message: "gone"}, &fetch.Error{Temporary: true}, 9)
	for range 8 {
		turn(theirs)
	}
	other := steps.errorOutcome(&store.Error{Code: store.CodeConflict}, "")
	for range maxTries - 1 {
		turn(other)
	}
	w.wantJob(id, domain.JobDownloading, reason.CodeStorage)
	turn(theirs)
	w.wantJob(id, domain.JobFailed, fetch.CodeUnreachable)

	id = w.aJobIn(domain.JobDownloading)
	for range maxTries {
		w.wantJob(id, domain.JobDownloading, w.codeOf(id))
		turn(other)
	}
	w.wantJob(id, domain.JobFailed, reason.CodeStorage)
}

// A step that meets an error of unknown kind makes its job wait, and its files' attempts are
// given back, however often.
// Shows: P18
func TestUnknownErrorUsesNothingUp(t *testing.T) {
	t.Parallel()
	for in, op := range map[domain.JobState]string{domain.JobProcessing: "CurrentVersion", domain.JobRecording: "RecordObject"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.web.serve("/a.txt", "a")
			id := w.jobIn(in, domain.TypeFile, "/a.txt", func(s *domain.Submission) { s.SubmissionMode, s.LocalIDs = payload.ModeUpdate, []string{"tide-1"} })
			by := "job-" + string(in)
			tries := 3 * maxTries
			w.refuse(op, tries, errors.New("odd"))
			for range tries {
				w.turn(by)
				w.wantJob(id, in, reason.CodeInternal)
				w.clock.Advance(limits.MaxOurs)
			}
			for _, f := range w.fileStatesOf(id) {
				if in == domain.JobProcessing && f.ProcessingAttempts != 0 {
					t.Errorf("%d attempts are used up", f.ProcessingAttempts)
				}
			}
			w.turn(by)
			if s := w.job(id).State; s == in || s == domain.JobFailed {
				t.Errorf("when the error has ended the job is %s", s)
			}
		})
	}
}

// An attempt that cannot help is the last.
func TestRetry(t *testing.T) {
	t.Parallel()
	if out := retry(domain.Reason{}, &fetch.Error{}, 9); out.verb != verbFail {
		t.Errorf("%+v", out)
	}
}

// A decision that the rules refuse by the time it is written is made again.
func TestRefusedDecisionIsMadeAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	id := w.aJobIn(domain.JobPending)
	w.turnOf(stepOf(domain.DaemonJobPending, func(context.Context, *JobTask) Outcome {
		w.hold(true) // between the look and the write
		return nextJob(domain.AcceptJob{})
	}))
	w.wantJob(id, domain.JobPending, "")
	w.clock.Advance(time.Second)
	w.turn(domain.DaemonJobPending)
	w.wantJob(id, domain.JobHeld, domain.CodeCollectionHeld)
}

// Stop: no new claims, running steps may end in the grace time, then they are cut
// off and handed back.
func TestStop(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		grace time.Duration
		obey  bool // the step ends by itself when the stop comes
	}{
		{"in the grace time", time.Minute, true},
		{"after it", time.Millisecond, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, noRecords, func(w *fixture) {
				w.cfg.Grace = c.grace
				w.cfg.Workers = map[string]int{}
				for _, d := range Daemons {
					w.cfg.Workers[d.Name] = 0
				}
				w.cfg.Workers[domain.DaemonJobDownloading] = 1
			})
			started, stopped := make(chan struct{}), make(chan struct{})
			w.web.on("/a.txt", func(rw http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					close(started)
					select {
					case <-stopped:
					case <-r.Context().Done():
						return
					}
				}
				_, _ = rw.Write([]byte("a"))
			})
			id := w.jobIn(domain.JobDownloading, domain.TypeFile, "/a.txt")
			before := w.job(id)
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- w.r.Run(ctx) }()
			<-started
			stop()
			if c.obey {
				close(stopped)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			after := w.job(id)
			if c.obey && after.State != domain.JobProcessing || !c.obey && after.Version != before.Version {
				t.Errorf("job is %+v", after)
			}
			if f := w.fileStatesOf(id)["a.txt"]; !c.obey && f.DownloadAttempts != 0 {
				t.Errorf("the attempt that was cut off counts: %+v", f.File)
			}
			if claim, _, err := w.store.ClaimJob(t.Context(), id); err != nil || claim.Attempts != 1 {
				t.Errorf("claim %+v, %v", claim, err)
			}
		})
	}
}

// Every fault of a configuration is named at once.
func TestConfig(t *testing.T) {
	t.Parallel()
	_, err := New(Config{Workers: map[string]int{"job-dreaming": 1, domain.DaemonJanitor: -1}, Grace: -1, SpaceReserve: -1})
	if err == nil {
		t.Fatal("an empty configuration was taken")
	}
	for _, want := range []string{"Handler", "Claims", "Profiles", "Fetch", "Records", "Objects", "Work ", "Installation", "Log",
		"job-dreaming", domain.DaemonJanitor, "Grace", "SpaceReserve"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
	}
}
