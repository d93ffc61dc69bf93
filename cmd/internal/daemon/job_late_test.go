package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/daemon/delivery"
	"github.com/accession-ingest/accession/cmd/internal/daemon/limits"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/mint"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/cmd/internal/store/description"
	"github.com/accession-ingest/accession/domain"
)

// faultyRecords refuse what a test says.
type faultyRecords struct {
	Records
	refuse func(op string) error
}

func faulty(r Records, refuse func(op string) error) Records {
	f := &faultyRecords{r, refuse}
	return Records{f, f, f, f, r.Replicas}
}

func (r *faultyRecords) ReserveVersion(ctx context.Context, job domain.JobID, primary string) (int, error) {
	if err := r.refuse("ReserveVersion"); err != nil {
		return 0, err
	}
	return r.Records.ReserveVersion(ctx, job, primary)
}

func (r *faultyRecords) FinishEffect(ctx context.Context, key string, result any) (record.Effect, error) {
	if err := r.refuse("FinishEffect"); err != nil {
		return record.Effect{}, err
	}
	return r.Records.FinishEffect(ctx, key, result)
}

func (r *faultyRecords) CurrentVersion(ctx context.Context, primary string, below int) (int, error) {
	if err := r.refuse("CurrentVersion"); err != nil {
		return 0, err
	}
	return r.Records.CurrentVersion(ctx, primary, below)
}

func (r *faultyRecords) RecordObject(ctx context.Context, o record.Object) (bool, error) {
	if err := r.refuse("RecordObject"); err != nil {
		return false, err
	}
	return r.Records.RecordObject(ctx, o)
}

// BindLocalID fails after it has bound.
func (r *faultyRecords) BindLocalID(ctx context.Context, within record.Scope, localIDs []string, primary string, job domain.JobID) (string, error) {
	bound, err := r.Records.BindLocalID(ctx, within, localIDs, primary, job)
	return bound, errors.Join(err, r.refuse("BindLocalID"))
}

func (r *faultyRecords) ConfirmIdentifier(ctx context.Context, job domain.JobID, name string) error {
	if err := r.refuse("ConfirmIdentifier"); err != nil {
		return err
	}
	return r.Records.ConfirmIdentifier(ctx, job, name)
}

// refuse makes the records refuse one kind of call, so often.
func (w *fixture) refuse(op string, times int, err error) {
	w.r.steps.cfg.Records = faulty(w.cfg.Records, func(asked string) error {
		if asked == op && times > 0 {
			times--
			return err
		}
		return nil
	})
}

var away = &record.Error{Code: record.CodeUnavailable, Op: "ask", Message: "PostgreSQL is away"}

// J10: the object is named, described and stored, and read back.
func TestProcessing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.web.objectManifest("/o.checkm", map[string]string{"data/a.csv": "a"})
	id := w.jobIn(domain.JobRecording, domain.TypeObjectManifest, "/o.checkm")
	j := w.job(id)
	if name, err := (mint.Minter{Authority: "99999", Shoulder: "fk4"}).Derive(string(id)); err != nil || j.Identifiers.Primary != name {
		t.Errorf("%s, %v; want %s", j.Identifiers.Primary, err, name)
	}
	m, err := w.cfg.Objects.VerifyVersion(t.Context(), j.Identifiers.Primary, 1)
	if err != nil || len(m.Files) != 3 || m.Files[0].Name != "data/a.csv" || m.Files[0].SHA256 != hexOf("a") || m.Job != id {
		t.Fatalf("%+v, %v", m, err)
	}
	erc, err := w.r.steps.Kept(t.Context(), store.VersionPrefix(j.Identifiers.Primary, 1)+"/system/"+description.ERCName)
	if err != nil || !strings.Contains(string(erc), "what: Tide tables") || !strings.Contains(string(erc), j.Identifiers.Primary) {
		t.Errorf("citation %q, %v", erc, err)
	}
}

// A job that starts over in processing mints once and stores one version, whatever
// it had reached.
// Shows: P5
func TestProcessingStartsOver(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"ReserveVersion", "FinishEffect"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.web.serve("/a.txt", "a")
			id := w.jobIn(domain.JobProcessing, domain.TypeFile, "/a.txt")
			w.refuse(op, 3, away)
			var named string
			for range 3 {
				w.turn(domain.DaemonJobProcessing)
				j := w.wantJob(id, domain.JobProcessing, record.CodeUnavailable)
				if named == "" {
					named = j.Identifiers.Primary
				}
				if named == "" || j.Identifiers.Primary != named {
					t.Fatalf("named %q, then %q", named, j.Identifiers.Primary)
				}
				w.clock.Advance(limits.MaxOurs)
			}
			w.turn(domain.DaemonJobProcessing)
			w.wantJob(id, domain.JobRecording, "")
			if n := count(w.events(id.Aggregate()), domain.EventJobIdentified); n != 1 {
				t.Errorf("%d events name it", n)
			}
			if _, err := w.cfg.Objects.VerifyVersion(t.Context(), named, 1); err != nil {
				t.Error(err)
			}
			if _, err := w.cfg.Objects.VerifyVersion(t.Context(), named, 2); store.CodeOf(err) != store.CodeNotFound {
				t.Errorf("a second version: %v", err)
			}
		})
	}
}

// A minted name is kept as such wherever a worker lost it: after it was bound to the local
// ids, or after it was written to the job and before it was confirmed; also when the records
// were put back to a copy that has not even its reservation.
func TestMintedNameIsConfirmed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"BindLocalID", "ConfirmIdentifier", "ConfirmIdentifier of an older copy"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op, _, older := strings.Cut(name, " ")
			w := newFixture(t)
			w.web.serve("/a.txt", "a")
			id := w.jobIn(domain.JobProcessing, domain.TypeFile, "/a.txt", func(s *domain.Submission) { s.LocalIDs = []string{"tide-1"} })
			w.refuse(op, 1, away)
			w.turn(domain.DaemonJobProcessing)
			w.wantJob(id, domain.JobProcessing, record.CodeUnavailable)
			if older {
				if _, err := w.db.Exec(t.Context(), "truncate record.identifier, record.local_id"); err != nil {
					t.Fatal(err)
				}
			}
			w.clock.Advance(limits.MaxOurs)
			w.turn(domain.DaemonJobProcessing)
			j := w.wantJob(id, domain.JobRecording, "")
			kept, err := w.records.Kept(t.Context(), []record.Stored{{VersionID: record.VersionID{Object: j.Identifiers.Primary, Version: 1}, Job: id}})
			if err != nil || kept[0].Identifier != j.Identifiers.Primary {
				t.Errorf("%+v is kept (%v), want %s", kept, err, j.Identifiers.Primary)
			}
			for _, e := range w.recorded(id.Aggregate()) {
				if named, ok := e.Data.(*domain.JobIdentified); ok && !named.Minted {
					t.Errorf("it is not minted: %+v", named)
				}
			}
		})
	}
}

// deposit brings a file with a row of identifiers to the end of processing, and to its end
// if it was processed.
func (w *fixture) deposit(path, primary, local string, last domain.JobState) domain.JobID {
	w.Helper()
	w.web.serve(path, path)
	w.web.serve(path+".checkm", manifestOf("mrt-single-file-batch-manifest", w.web.URL+path+" | | | | | | "+primary+" | "+local))
	id := w.jobIn(domain.JobProcessing, domain.TypeFileBatchManifest, path+".checkm")
	w.turn(domain.DaemonJobProcessing)
	if j := w.job(id); j.State != last {
		w.Fatalf("%s is %s with %+v, not %s\n%s", path, j.State, j.Reason, last, w.log)
	}
	if last == domain.JobRecording {
		w.walk(domain.DaemonJobRecording, domain.DaemonJobNotify)
	}
	return id
}

// Identifiers of the depositor: given ones hold, local ids lead to the object they
// were first used for, and a contradiction fails the job.
func TestIdentifiers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	primary := func(id domain.JobID) string { return w.job(id).Identifiers.Primary }

	first := primary(w.deposit("/a", "", "tide-1;tide-2", domain.JobRecording))
	if again := primary(w.deposit("/b", "", "tide-2", domain.JobRecording)); again != first {
		t.Errorf("the same local id led to %s and %s", first, again)
	}
	if m, err := w.cfg.Objects.VerifyVersion(t.Context(), first, 2); err != nil || m.Version != 2 {
		t.Errorf("no second version: %v", err)
	}
	given := primary(w.deposit("/c", "ARK:/99999/fk4-given", "tide-3", domain.JobRecording))
	if given != "ark:/99999/fk4given" {
		t.Errorf("given identifier became %s", given)
	}
	other := primary(w.deposit("/d", "", "", domain.JobRecording))
	if other == first || other == given {
		t.Errorf("two objects are %s", other)
	}
	for path, c := range map[string]struct {
		primary, local string
		code           domain.Code
	}{
		"/e": {given, "tide-1", reason.CodeIdentifierMismatch},
		"/f": {"", "tide-1;tide-3", record.CodeIdentifierMismatch},
		"/g": {"doi:10.1/x", "", mint.CodeDOIInvalid},
	} {
		id := w.deposit(path, c.primary, c.local, domain.JobFailed)
		if j := w.wantJob(id, domain.JobFailed, c.code); j.Reason.Class != domain.ClassContent {
			t.Errorf("%s: %+v", path, j.Reason)
		}
	}
}

// Whose identifier: one of another collection, another authority, or that a job may yet
// be given is refused, whether the deposit adds or updates, and leaves nothing behind.
//
// Shows: P10
func TestForeignIdentifiers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	charts := w.profile("charts")
	w.set["charts"] = charts
	elsewhere := w.profile("elsewhere")
	elsewhere.Identifier.Shoulder = "m5"
	w.set["elsewhere"] = elsewhere
	n := 0
	deposit := func(profile, mode, primary, local string) domain.Job {
		n++
		path := fmt.Sprint("/", n)
		w.web.serve(path, path)
		w.web.serve(path+".checkm", manifestOf("mrt-single-file-batch-manifest", w.web.URL+path+" | | | | | | "+primary+" | "+local))
		id := w.jobIn(domain.JobProcessing, domain.TypeFileBatchManifest, path+".checkm", func(s *domain.Submission) {
			s.ProfileName, s.SubmissionMode = profile, mode
		})
		w.turn(domain.DaemonJobProcessing)
		j := w.job(id)
		if j.State == domain.JobRecording { // the next job of the object waits for its end
			w.walk(domain.DaemonJobRecording, domain.DaemonJobNotify)
		}
		return j
	}
	minted := deposit(tides, "add", "", "tide-1").Identifiers.Primary
	given := deposit(tides, "add", "ark:/99999/fk4given", "").Identifiers.Primary
	future, err := (mint.Minter{Authority: "99999", Shoulder: "fk4"}).Derive(string(domain.NewJobID(5_000_000)))
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"add", "update"} {
		for name, c := range map[string]struct {
			profile, primary, local string
			code                    domain.Code
			says                    string
		}{
			"an object that was minted":           {"charts", minted, "new-" + mode, record.CodeIdentifierForeign, "object of collection tides, and the deposit is for collection charts"},
			"an object that was named":            {"charts", given, "", record.CodeIdentifierForeign, "object of collection tides, and the deposit is for collection charts"},
			"an object of another authority":      {"elsewhere", given, "", record.CodeIdentifierForeign, "object of collection tides, and the deposit is for collection elsewhere"},
			"a new name of another authority":     {"elsewhere", "ark:/99999/fk4new", "", record.CodeIdentifierForeign, "new ones are named ark:/99999/m5…"},
			"another number of the authority":     {tides, "ark:/13030/fk4new", "", record.CodeIdentifierForeign, "new ones are named ark:/99999/fk4…"},
			"a name that a job may yet be given":  {tides, future, "", reason.CodeIdentifierReserved, "given by Accession alone"},
			"a part of what a job may be given":   {tides, future + "/c2", "", reason.CodeIdentifierReserved, "given by Accession alone"},
			"of another collection, not yet made": {"charts", future, "", reason.CodeIdentifierReserved, "given by Accession alone"},
		} {
			j := deposit(c.profile, mode, c.primary, c.local)
			if j.State != domain.JobFailed || j.Reason.Code != c.code || j.Reason.Class != domain.ClassContent || !strings.Contains(j.Reason.Message, c.says) {
				t.Errorf("%s, %s: %s, %+v", name, mode, j.State, j.Reason)
			}
		}
		// What was refused has bound no names, and the collection's own may go on.
		if own := deposit("charts", mode, "", "new-"+mode); own.State != domain.JobRecording || own.Identifiers.Primary == minted {
			t.Errorf("%s: %s is %s, %+v", mode, own.Identifiers.Primary, own.State, own.Reason)
		}
		for _, primary := range []string{minted, given} {
			if j := deposit(tides, mode, primary, ""); j.State != domain.JobRecording || j.Identifiers.Primary != primary {
				t.Errorf("%s, %s: %s, %+v", mode, primary, j.State, j.Reason)
			}
		}
	}
	// The same local id in another collection of the same owner is another object.
	if j := deposit("charts", "add", "", "tide-1"); j.State != domain.JobRecording || j.Identifiers.Primary == minted {
		t.Errorf("a local id of another collection leads to %s: %s, %+v", j.Identifiers.Primary, j.State, j.Reason)
	}
}

// What a version has: with add the deposit's files alone, with update those of the version
// before, replaced or joined by name, without those on the deletion list; for every kind
// of deposit of one object.
// Shows: P17
func TestAddAndUpdate(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	single := map[string]string{"/b.txt": "b, as one file", "/z.zip": zipOf("z.txt", "in an archive")}
	var object string
	for i, c := range []struct {
		mode string
		kind domain.SubmissionType
		path string
		give map[string]string // files of an object manifest
		want map[string]string
	}{
		{"add", domain.TypeObjectManifest, "/1", map[string]string{"a.txt": "a", "b.txt": "b", "c.txt": "c"}, map[string]string{"a.txt": "a", "b.txt": "b", "c.txt": "c"}},
		{"update", domain.TypeObjectManifest, "/2", map[string]string{"b.txt": "B", "d.txt": "d"}, map[string]string{"a.txt": "a", "b.txt": "B", "c.txt": "c", "d.txt": "d"}},
		{"update", domain.TypeFile, "/b.txt", nil, map[string]string{"a.txt": "a", "b.txt": "b, as one file", "c.txt": "c", "d.txt": "d"}},
		{"update", domain.TypeObjectManifest, "/3", map[string]string{"mrt-delete.txt": "a.txt\r\n\nd.txt\nnone.txt\n", "e.txt": "e"},
			map[string]string{"b.txt": "b, as one file", "c.txt": "c", "e.txt": "e", "mrt-delete.txt": "a.txt\r\n\nd.txt\nnone.txt\n"}},
		{"update", domain.TypeContainer, "/z.zip", nil, map[string]string{"b.txt": "b, as one file", "c.txt": "c", "e.txt": "e", "z.txt": "in an archive"}},
		{"add", domain.TypeFile, "/b.txt", nil, map[string]string{"b.txt": "b, as one file"}},
	} {
		if c.give != nil {
			w.web.objectManifest(c.path, c.give)
		} else {
			w.web.serve(c.path, single[c.path])
		}
		id := w.jobIn(domain.JobProcessing, c.kind, c.path, func(s *domain.Submission) {
			s.SubmissionMode, s.LocalIDs, s.Primary = c.mode, []string{"tide-1"}, object
		})
		w.refuse("FinishEffect", 1, away) // once more, after the version is stored
		for range 2 {
			w.turn(domain.DaemonJobProcessing)
			w.clock.Advance(limits.MaxOurs)
		}
		w.wantJob(id, domain.JobRecording, "")
		w.turn(domain.DaemonJobRecording)
		w.wantJob(id, domain.JobNotify, "")
		w.turn(domain.DaemonJobNotify)
		if object == "" {
			object = w.job(id).Identifiers.Primary
		}
		m, err := w.cfg.Objects.VerifyVersion(t.Context(), object, i+1)
		if err != nil {
			t.Fatalf("version %d: %v", i+1, err)
		}
		got := map[string]string{}
		for _, f := range m.Files {
			if f.Kind == store.KindProducer {
				got[f.Name] = f.SHA256
			}
		}
		for name, text := range c.want {
			if got[name] != hexOf(text) {
				t.Errorf("version %d: %s is %q, want that of %q", i+1, name, got[name], text)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("version %d has %v", i+1, got)
		}
	}
}

// Jobs that use a new local id at the same moment end with one object: all but the first
// wait, and find the name that it has bound.
func TestLocalIDsRace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.h.Live = noticing{w.h.Live, w}
	var ids []domain.JobID
	for _, path := range []string{"/a", "/b", "/c", "/d"} {
		w.web.serve(path, path)
		w.web.serve(path+".checkm", manifestOf("mrt-single-file-batch-manifest", w.web.URL+path+" | | | | | | | tide-1"))
		ids = append(ids, w.jobIn(domain.JobProcessing, domain.TypeFileBatchManifest, path+".checkm"))
	}
	var wg sync.WaitGroup
	for range ids {
		wg.Go(func() { w.turn(domain.DaemonJobProcessing) })
	}
	wg.Wait()
	for i, id := range ids {
		if i > 0 {
			w.turn(domain.DaemonJobProcessing)
		}
		w.wantJob(id, domain.JobRecording, "")
		w.walk(domain.DaemonJobRecording, domain.DaemonJobNotify)
	}
	for _, id := range ids {
		if j := w.wantJob(id, domain.JobCompleted, ""); j.Identifiers.Primary != w.job(ids[0]).Identifiers.Primary {
			t.Errorf("%s is %s", id, j.Identifiers.Primary)
		}
	}
	for n := range ids {
		if _, err := w.cfg.Objects.VerifyVersion(t.Context(), w.job(ids[0]).Identifiers.Primary, n+1); err != nil {
			t.Error(err)
		}
	}
}

// J11: what was downloaded is gone, or was changed.
func TestWorkingFilesGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm func(dir string) error
		code domain.Code
	}{
		"all":     {os.RemoveAll, reason.CodeFilesMissing},
		"one":     {func(dir string) error { return os.Remove(filepath.Join(dir, "files", "a.txt")) }, reason.CodeFilesMissing},
		"changed": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "files", "a.txt"), []byte("b"), 0o600) }, reason.CodeFilesMissing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.web.objectManifest("/o.checkm", map[string]string{"a.txt": "a", "b.txt": "b"})
			id := w.jobIn(domain.JobProcessing, domain.TypeObjectManifest, "/o.checkm")
			if err := c.harm(w.job(id).Configuration.WorkingDir); err != nil {
				t.Fatal(err)
			}
			w.turn(domain.DaemonJobProcessing)
			w.wantJob(id, domain.JobFailed, c.code)
		})
	}
}

// J12, J13: the inventory says what the storage manifest says, or the job fails.
func TestRecording(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.web.serve("/a.txt", "a")
	id := w.jobIn(domain.JobRecording, domain.TypeFile, "/a.txt")
	w.refuse("RecordObject", 1, away)
	w.turn(domain.DaemonJobRecording)
	w.wantJob(id, domain.JobRecording, record.CodeUnavailable) // PostgreSQL away is no failure of the job
	w.clock.Advance(limits.MaxOurs)
	w.turn(domain.DaemonJobRecording)
	w.wantJob(id, domain.JobNotify, "")
	files, err := w.records.RecordedJobs(t.Context(), []string{string(id)})
	if err != nil || files[id] != 3 {
		t.Errorf("%+v, %v", files, err)
	}

	id = w.jobIn(domain.JobRecording, domain.TypeFile, "/a.txt")
	w.refuse("RecordObject", 1, &record.Error{Code: record.CodeInventoryConflict, Op: "record", Message: "another"})
	w.turn(domain.DaemonJobRecording)
	w.wantJob(id, domain.JobFailed, record.CodeInventoryConflict)
	w.requeue(id)
	w.turn(domain.DaemonJobRecording)
	w.wantJob(id, domain.JobNotify, "")
}

// A storage manifest that is not the one that was written is not recorded.
func TestRecordingLooksAtTheDigest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.web.serve("/a.txt", "a")
	id := w.jobIn(domain.JobRecording, domain.TypeFile, "/a.txt")
	key := store.ManifestKey(w.job(id).Identifiers.Primary, 1)
	m, _, err := w.cfg.Objects.ReadManifest(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	m.Files[0].SHA256 = hexOf("other")
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.cfg.Objects.Put(t.Context(), key, strings.NewReader(string(data))); err != nil {
		t.Fatal(err)
	}
	w.turn(domain.DaemonJobRecording)
	w.wantJob(id, domain.JobFailed, reason.CodeStorage)
}

// J14, J15: the callback is made with a key that survives a requeue.
// Shows: P6
func TestCallback(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := w.set[tides]
	p.Callback.URL = w.web.URL + "/done?token=secret"
	w.set[tides] = p
	var mu sync.Mutex
	var keys []string
	var bodies []delivery.Callback
	status := http.StatusServiceUnavailable
	w.web.on("/done", func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var b delivery.Callback
		if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
			t.Error(err)
		}
		keys, bodies = append(keys, r.Header.Get("Idempotency-Key")), append(bodies, b)
		rw.WriteHeader(status)
	})
	w.web.serve("/a.txt", "a")
	id := w.jobIn(domain.JobNotify, domain.TypeFile, "/a.txt")
	w.untilMoved(id, domain.DaemonJobNotify)
	j := w.wantJob(id, domain.JobFailed, "http_status")
	if strings.Contains(j.Reason.Message, "secret") || "http://"+j.Reason.Host != w.web.URL {
		t.Errorf("a query is shown, or another host: %+v", j.Reason)
	}
	mu.Lock()
	status = http.StatusNoContent
	mu.Unlock()
	w.requeue(id)
	w.turn(domain.DaemonJobNotify)
	w.wantJob(id, domain.JobCompleted, "")
	for _, k := range keys {
		if k == "" || k != keys[0] {
			t.Errorf("keys %q", keys)
		}
	}
	b := bodies[len(bodies)-1]
	if len(bodies) != 3 || b.Job != id || b.Primary != j.Identifiers.Primary || b.Version != 1 || b.Name != "a.txt" {
		t.Errorf("%d callbacks, the last one %+v", len(bodies), b)
	}
	d, err := w.records.Delivery(t.Context(), keys[0])
	if err != nil || d.State != record.DeliveryDelivered || strings.Contains(fmt.Sprint(d.Recipients), "secret") {
		t.Errorf("%+v, %v", d, err)
	}
}

// A callback that was delivered before the worker died is not made again.
// Shows: P6
func TestCallbackIsNotRepeated(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := w.set[tides]
	p.Callback.URL = w.web.URL + "/done"
	w.set[tides] = p
	w.web.serve("/done", "ok")
	w.web.serve("/a.txt", "a")
	id := w.jobIn(domain.JobNotify, domain.TypeFile, "/a.txt")
	d := daemonNamed(domain.DaemonJobNotify)
	step := d.jobStep
	d.jobStep = func(s *steps, ctx context.Context, t *JobTask) Outcome {
		defer w.mem.Expire(w.store)
		return step(s, ctx, t)
	}
	w.turnOf(d)
	w.wantJob(id, domain.JobNotify, "")
	w.turn(domain.DaemonJobNotify)
	w.wantJob(id, domain.JobCompleted, "")
	if n := w.web.count("POST /done"); n != 1 {
		t.Errorf("%d callbacks", n)
	}
}
