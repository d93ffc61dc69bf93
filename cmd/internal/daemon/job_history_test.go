package daemon

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// lossy is a live state that has lost a job with its reference.
type lossy struct {
	eventstore.Live
	job *domain.JobID
}

func (l lossy) BatchJobs(ctx context.Context, id domain.BatchID, sub domain.Sub) ([]domain.JobID, error) {
	ids, err := l.Live.BatchJobs(ctx, id, sub)
	return slices.DeleteFunc(ids, func(j domain.JobID) bool { return j == *l.job }), err
}

// A job that is gone without an event which deletes it is no deleted job: the report
// and the mail say that it is missing, and by which name it was known.
func TestLostJobIsNotCalledDeleted(t *testing.T) {
	t.Parallel()
	var lost domain.JobID
	w := newFixture(t, func(w *fixture) { w.h.Live = lossy{w.store, &lost} })
	w.wantMails(profile.MailReport)
	id, first := w.mixed()
	lost = first // it has completed
	w.turn(domain.DaemonBatchReporting)
	r := w.report(id)
	if r.Listed != 3 || r.Completed != 0 || r.Failed != 2 || r.Deleted != 0 || len(r.Unexplained) != 1 ||
		r.Unexplained[0].ID != lost || r.Unexplained[0].Name != "good.txt" || r.Unexplained[0].State != domain.JobCompleted {
		t.Errorf("whole report %+v", r)
	}
	for _, want := range []string{"Listed 3, completed 0, failed 2, deleted 0.", "1 are not accounted for", "Not accounted for\n  " + string(lost) + "  good.txt"} {
		if mail := w.mail.mails[0].Text; !strings.Contains(mail, want) {
			t.Errorf("the mail does not say %q:\n%s", want, mail)
		}
	}
	if !strings.Contains(w.log.String(), "no event tells why") {
		t.Errorf("the operators are not told:\n%s", w.log)
	}
}

// moving is an outbox that is sent and empty just before it is read, or just after.
type moving struct {
	Outbox
	w    *fixture
	late bool
}

func (m moving) Read(ctx context.Context, shard int, after eventstore.Offset, limit int) ([]eventstore.Item, error) {
	items, err := m.Outbox.Read(ctx, shard, after, limit)
	for _, it := range items {
		for _, r := range it.Events {
			last, err := m.w.history.Last(ctx, r.Aggregate)
			if err == nil && last.Version < r.Version {
				_, err = m.w.history.Append(ctx, []eventstore.Append{{Event: r, ExpectSeq: last.Seq}})
			}
			if err != nil {
				return nil, err
			}
		}
	}
	if m.late {
		return items, err
	}
	return nil, err
}

// Deletions are found in the outbox, on their way into the log, and in the log; a
// job without events is nowhere.
func TestDeletionsAreFoundWhereverTheyAre(t *testing.T) {
	t.Parallel()
	for where, outbox := range map[string]func(*fixture) Outbox{
		"in the outbox":              func(w *fixture) Outbox { return w.store },
		"sent before it is read":     func(w *fixture) Outbox { return moving{w.store, w, false} },
		"sent after it was read":     func(w *fixture) Outbox { return moving{w.store, w, true} },
		"in the log, outbox unasked": nil,
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, noRecords)
			w.web.serve("/f.checkm", manifestOf("mrt-single-file-batch-manifest", "gopher://files.test/x", "gopher://files.test/y"))
			id := w.submit(domain.TypeFileBatchManifest, "/f.checkm")
			w.walk(domain.DaemonBatchPending, domain.DaemonJobPending, domain.DaemonJobPending, domain.DaemonBatchReporting)
			ids := []domain.JobID{w.batch(id).Listing.FirstJID}
			w.doJob(ids[0], domain.DeleteJob{})
			want := []domain.JobState{domain.JobDeleted}
			if outbox != nil {
				ids, want = append(ids, ids[0].Plus(1), ids[0].Plus(2)), append(want, domain.JobFailed, domain.JobNone)
				w.r.steps.cfg.Outbox = outbox(w)
			} else {
				for shard := range w.store.Shards() {
					if _, err := (moving{w.store, w, true}).Read(t.Context(), shard, eventstore.Offset{}, 500); err != nil {
						t.Fatal(err)
					}
				}
				w.r.steps.cfg.Outbox = nil // asking it panics
			}
			jobs, err := w.r.steps.reports().History.Of(t.Context(), ids)
			if err != nil {
				t.Fatal(err)
			}
			for i, j := range jobs {
				if j.ID != ids[i] || j.State != want[i] {
					t.Errorf("%s is %q, want %s %q", j.ID, j.State, ids[i], want[i])
				}
			}
		})
	}
}
