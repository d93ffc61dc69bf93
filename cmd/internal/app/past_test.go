package app

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/projtest"
)

// TestTimeTravelIsTheFoldUpToThere compares, at every place of a history, the
// domain's own fold of an aggregate's events with what is shown of it as of there:
// by place, and by the time of that event.
func TestTimeTravelIsTheFoldUpToThere(t *testing.T) {
	t.Parallel()
	story := projtest.NewStory(t)
	story.Random(4, 250)
	a := &App{Open: resources(fakeHistory{log: logOf(t, story)})}
	type shown struct {
		Version       int64
		Status        string
		Reason        string
		Attempts      int
		Moves, Failed int // changes of state, and failed attempts, of jobs and files
	}
	batches, jobs, files := map[string]domain.Batch{}, map[string]domain.Job{}, map[string]domain.File{}
	moves, failed := map[string]int{}, map[string]int{}
	why := func(r *domain.Reason) string {
		if r == nil {
			return ""
		}
		return r.Message
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	for _, r := range story.Log {
		var want, got shown
		id := r.Aggregate.ID
		ask := func(m Moment) (err error) {
			switch r.Aggregate.Kind {
			case domain.KindBatch:
				v, err := a.BatchAt(t.Context(), domain.BatchID(id), m, 100)
				got = shown{Version: r.Version, Status: v.Status, Reason: text(v.ReasonMessage)}
				report, refused := a.BatchReportAt(t.Context(), domain.BatchID(id), m, 100)
				if diff := cmp.Diff(v.Jobs, report.Jobs); diff != "" && err == nil || v.Status != report.Status || errors.As(refused, new(*Error)) != errors.As(err, new(*Error)) {
					t.Errorf("the report as of %+v is another, %v, %v:\n%s", m, err, refused, diff)
				}
				for _, j := range v.Jobs {
					if j.Status != string(jobs[j.ID].State) || j.Version != jobs[j.ID].Version {
						t.Errorf("%s stands %s", j.ID, j.Status)
					}
				}
				return err
			case domain.KindJob:
				v, err := a.JobAt(t.Context(), domain.JobID(id), m)
				got = shown{v.Version, v.Status, text(v.ReasonMessage), int(v.RetryCount), len(v.Transitions), len(v.Retries)}
				return err
			default:
				v, err := a.FileAt(t.Context(), domain.FileHash(id), m)
				got = shown{v.Version, v.Status, text(v.ReasonMessage), int(v.DownloadAttempts), len(v.Transitions), len(v.Retries)}
				return err
			}
		}
		var e *Error
		if r.Version == 1 && r.Seq > 1 {
			if err := ask(Moment{Seq: r.Seq - 1}); !errors.As(err, &e) || e.Kind != NotFound {
				t.Errorf("%s was there before its first event: %v", r.Aggregate, err)
			}
		}
		var err error
		switch r.Aggregate.Kind {
		case domain.KindBatch:
			b, broken := domain.EvolveBatch(batches[id], r)
			batches[id], err = b, broken
			want = shown{Version: b.Version, Status: string(b.State), Reason: why(b.Reason)}
		case domain.KindJob:
			from := jobs[id].State
			j, broken := domain.EvolveJob(jobs[id], r)
			jobs[id], err = j, broken
			if from != j.State {
				moves[id]++
			}
			if j.State == domain.JobFailed {
				failed[id]++
			}
			want = shown{j.Version, string(j.State), why(j.Reason), j.RetryCount, moves[id], failed[id]}
		default:
			f, broken := domain.EvolveFile(files[id], r)
			files[id], err = f, broken
			moves[id]++
			if f.State == domain.FileDownloadingFailed || f.State == domain.FileProcessingFailed {
				failed[id]++
			}
			want = shown{f.Version, string(f.State), why(f.Reason), f.DownloadAttempts, moves[id], failed[id]}
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []Moment{{Seq: r.Seq}, {Time: r.Stored}} {
			if last := story.Log[min(int(r.Seq), len(story.Log)-1)]; !m.Time.IsZero() && last.Stored.Equal(r.Stored) && last.Seq != r.Seq {
				continue // the next event has the same time and belongs to it
			}
			if err := ask(m); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s as of %+v (-folded +shown):\n%s", r.Aggregate, m, diff)
			}
		}
	}
	for _, m := range []Moment{{Seq: 10_000}, {Time: story.Log[0].Stored.Add(-time.Second)}} {
		var e *Error
		if _, err := a.BatchAt(t.Context(), "bid0000000001", m, 1); !errors.As(err, &e) || e.Kind != NotFound {
			t.Errorf("%+v: %v", m, err)
		}
		if _, err := a.BatchReportAt(t.Context(), "bid0000000001", m, 1); !errors.As(err, &e) || e.Kind != NotFound {
			t.Errorf("report at %+v: %v", m, err)
		}
	}
}
