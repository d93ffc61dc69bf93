package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/ownstep"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// noticing passes the events of each write to the runner, as the log does.
type noticing struct {
	eventstore.Live
	w *fixture
}

func (n noticing) Commit(ctx context.Context, changes ...eventstore.Change) ([]eventstore.Committed, error) {
	done, err := n.Live.Commit(ctx, changes...)
	if err == nil && n.w.r != nil {
		for _, c := range changes {
			for _, e := range c.Events {
				n.w.r.Notice(e)
			}
		}
	}
	return done, err
}

// remembered keeps in maps what the steps of an object's jobs keep in SQL.
type remembered struct {
	Deliveries // of these there are none
	ownstep.Records
	mu       sync.Mutex
	names    map[string]string // by local id
	reserved map[domain.JobID]int
	effects  map[string]record.Effect
	recorded map[domain.JobID]domain.StoredObject
}

func inMemory(w *fixture) *remembered {
	m := &remembered{names: map[string]string{}, reserved: map[domain.JobID]int{}, effects: map[string]record.Effect{}, recorded: map[domain.JobID]domain.StoredObject{}}
	w.cfg.Records = Records{m, m, m, m, nil}
	return m
}

func (m *remembered) UseIdentifier(context.Context, record.Use) error { return nil }
func (m *remembered) ConfirmIdentifier(context.Context, domain.JobID, string) error {
	return nil
}

func (m *remembered) ReserveIdentifier(_ context.Context, _ domain.JobID, name string) (record.Identifier, error) {
	return record.Identifier{Name: name}, nil
}

func (m *remembered) LookupLocalID(_ context.Context, _ record.Scope, ids []string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.names[ids[0]], nil
}

func (m *remembered) BindLocalID(_ context.Context, _ record.Scope, ids []string, primary string, _ domain.JobID) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.names[ids[0]] == "" {
		m.names[ids[0]] = primary
	}
	return m.names[ids[0]], nil
}

func (m *remembered) ReserveVersion(_ context.Context, job domain.JobID, _ string) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reserved[job] == 0 {
		m.reserved[job] = len(m.reserved) + 1
	}
	return m.reserved[job], nil
}

func (m *remembered) ReservedVersion(_ context.Context, job domain.JobID) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reserved[job], nil
}

func (m *remembered) BeginEffect(_ context.Context, key, _ string) (record.Effect, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, begun := m.effects[key]; !begun {
		m.effects[key] = record.Effect{Key: key}
	}
	return m.effects[key], nil
}

func (m *remembered) AcceptEffect(context.Context, string, any) (record.Effect, error) {
	return record.Effect{}, nil
}

func (m *remembered) FinishEffect(_ context.Context, key string, result any) (record.Effect, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, err := json.Marshal(result)
	m.effects[key] = record.Effect{Key: key, Done: true, Result: data}
	return m.effects[key], err
}

func (m *remembered) RecordObject(_ context.Context, o record.Object) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.recorded[o.Manifest.Job] = domain.StoredObject{Primary: o.Manifest.Object, Version: o.Manifest.Version, ManifestKey: o.ManifestKey, ManifestSHA256: o.ManifestSHA256}
	return true, nil
}

func (m *remembered) RecordedObject(_ context.Context, job domain.JobID) (domain.StoredObject, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, there := m.recorded[job]
	return o, there, nil
}

func (m *remembered) RecordedVersions(context.Context, []string) (map[domain.JobID]int, error) {
	return nil, nil
}

func (m *remembered) CurrentVersion(context.Context, string, int) (int, error) { return 0, nil }

func (*remembered) KeepDeposit(context.Context, domain.BatchID, domain.Submission) (domain.BatchID, error) {
	return "", nil
}

func (m *remembered) KeepURLs(_ context.Context, full []string) ([]string, error) { return full, nil }
func (m *remembered) FullURL(_ context.Context, public string) (string, error)    { return public, nil }

// version is the one that a job has recorded, 0 = none.
func (m *remembered) version(id domain.JobID) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.recorded[id].Version
}

// rowsOfOneObject deposits files that all belong to one object, and returns their jobs.
func (w *fixture) rowsOfOneObject(manifest string, paths ...string) (ids []domain.JobID) {
	w.Helper()
	var lines []string
	for _, path := range paths {
		w.web.serve(path, path)
		lines = append(lines, w.web.URL+path+" | | | | | | | tide-1")
	}
	w.web.serve(manifest, manifestOf("mrt-single-file-batch-manifest", lines...))
	batch := w.submit(domain.TypeFileBatchManifest, manifest)
	w.turn(domain.DaemonBatchPending)
	for i := range paths {
		ids = append(ids, w.batch(batch).Listing.FirstJID.Plus(i))
	}
	return ids
}

// Sixty rows of two deposits for one object, of which the first is the slowest, with
// several workers: the versions are in the order of the rows.
// Shows: P17
func TestVersionsFollowTheDeposits(t *testing.T) {
	t.Parallel()
	const rows = 30
	ended := make(stepSignal, 1)
	var records *remembered
	w := newFixture(t, func(w *fixture) {
		records = inMemory(w)
		w.cfg.Meter, w.cfg.HandOver = ended, true
		w.h.Live = noticing{w.h.Live, w}
	})
	var ids []domain.JobID
	for _, batch := range []string{"a", "b"} {
		var paths []string
		for i := range rows {
			paths = append(paths, fmt.Sprintf("/%s%d", batch, i))
		}
		ids = append(ids, w.rowsOfOneObject("/"+batch+".checkm", paths...)...)
	}
	others := make(chan struct{})
	w.web.on("/a0", func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead {
			select {
			case <-others:
			case <-r.Context().Done():
			}
		}
		_, _ = rw.Write([]byte("/a0"))
	})
	w.serve(t)
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	until := func(what string, ok func(j domain.Job) bool, of []domain.JobID) {
		t.Helper()
		for _, id := range of {
			for !ok(w.job(id)) {
				select {
				case <-ended:
				case <-deadline.C:
					t.Fatalf("%s is %s with %+v: not %s", id, w.job(id).State, w.job(id).Reason, what)
				}
			}
		}
	}
	until("waiting", func(j domain.Job) bool {
		return j.State == domain.JobProcessing && j.Reason != nil && j.Reason.Code == domain.CodeObjectLocked
	}, ids[1:])
	for i, id := range ids[1:] {
		if j := w.job(id); !strings.Contains(j.Reason.Message, string(ids[i])) {
			t.Errorf("%s does not wait for the job before it: %s", id, j.Reason.Message)
		}
	}
	close(others)
	until("completed", func(j domain.Job) bool { return j.State == domain.JobCompleted }, ids)
	for i, id := range ids {
		if v := records.version(id); v != i+1 {
			t.Errorf("%s has version %d, not %d", id, v, i+1)
		}
		if n := count(w.events(id.Aggregate()), domain.EventJobWaiting); n > 1 {
			t.Errorf("%s has told %d times that it waits", id, n)
		}
	}
}

// A job waits for the one before it, by name and in its event, until that one has failed;
// requeued, the failed one gets a later version.
// Shows: P17
func TestFailedJobKeepsNoneWaiting(t *testing.T) {
	t.Parallel()
	var records *remembered
	w := newFixture(t, func(w *fixture) { records = inMemory(w) })
	w.h.Live = noticing{w.h.Live, w}
	ids := w.rowsOfOneObject("/m.checkm", "/a", "/b")
	for _, name := range upTo(domain.JobProcessing) {
		w.turn(name)
		w.turn(name)
	}
	first, second := ids[0], ids[1]
	claim, _, err := w.store.ClaimJob(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	w.turn(domain.DaemonJobProcessing)
	w.wantJob(second, domain.JobProcessing, domain.CodeObjectLocked)
	events := w.recorded(second.Aggregate())
	if d, ok := events[len(events)-1].Data.(*domain.JobWaiting); !ok || d.WaitsFor != first {
		t.Errorf("its last event is %+v", events[len(events)-1])
	}
	if err := w.store.Release(t.Context(), claim, 0); err != nil {
		t.Fatal(err)
	}
	w.doJob(first, domain.CancelJob{Reason: domain.Reason{Class: domain.ClassCancelled, Code: domain.CodeCancelled, Message: "a test"}})
	w.walk(domain.DaemonJobProcessing, domain.DaemonJobRecording, domain.DaemonJobNotify)
	w.wantJob(second, domain.JobCompleted, "")
	w.requeue(first)
	w.walk(domain.DaemonJobProcessing, domain.DaemonJobRecording, domain.DaemonJobNotify)
	w.wantJob(first, domain.JobCompleted, "")
	if a, b := records.version(first), records.version(second); b != 1 || a != 2 {
		t.Errorf("versions %d and %d", a, b)
	}
}

// If no event tells that the job before has ended, a job looks again after a time.
func TestWaitingJobLooksAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(w *fixture) { inMemory(w) })
	ids := w.rowsOfOneObject("/m.checkm", "/a", "/b")
	for _, name := range upTo(domain.JobProcessing) {
		w.turn(name)
		w.turn(name)
	}
	w.walk(domain.DaemonJobProcessing, domain.DaemonJobProcessing)
	w.wantJob(ids[0], domain.JobRecording, "")
	w.wantJob(ids[1], domain.JobProcessing, domain.CodeObjectLocked)
	w.walk(domain.DaemonJobRecording, domain.DaemonJobNotify)
	w.clock.Advance(objectDelay)
	w.walk(domain.DaemonJobProcessing, domain.DaemonJobRecording, domain.DaemonJobNotify)
	w.wantJob(ids[1], domain.JobCompleted, "")
}
