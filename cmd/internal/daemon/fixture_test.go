package daemon

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"
	"gocloud.dev/blob"

	"github.com/accession-ingest/accession/cmd/internal/daemon/delivery"
	"github.com/accession-ingest/accession/cmd/internal/daemon/report"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/projections/projtest"
)

func TestMain(m *testing.M) {
	blob.DefaultURLMux().RegisterBucket("bad", &allBad)
	// The template database's pool lives as long as the test binary.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/jackc/pgx/v5/pgxpool.(*Pool).backgroundHealthCheck"))
}

// fixture is an installation of its own: live state in maps, a depositor's server,
// an object store and a working directory in temporary folders, records in
// PostgreSQL.
type fixture struct {
	testing.TB
	mem   *memory.Server
	store *memory.Store
	clock *memory.ManualClock
	h     *eventstore.Handler
	r     *Runner
	cfg   Config
	web   *web
	mail  *mailbox
	// history has the events of files; those of batches and jobs stay in the outbox.
	history *memory.Log
	log     *logbook
	set     profiles
	records *record.Records // nil for tests without
	db      *pgxpool.Pool   // of the records
}

// profiles is a set that a test can change.
type profiles map[string]profile.Profile

func (p profiles) Get(name string) (profile.Profile, error) {
	if is, ok := p[name]; ok {
		return is, nil
	}
	return profile.Profile{}, &profile.NotFoundError{Name: name}
}

func (p profiles) Names() []string { return slices.Sorted(maps.Keys(p)) }

const tides = "tides" // the profile and the collection of most tests

// newFixture returns one; change may alter the configuration before it is used.
func newFixture(t testing.TB, change ...func(*fixture)) *fixture {
	t.Helper()
	w := &fixture{TB: t, clock: memory.NewManualClock(time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)), mail: &mailbox{}, log: &logbook{}}
	w.mem = memory.New(memory.Options{Clock: w.clock})
	w.store = w.mem.Session()
	w.web = newWeb(t)
	w.set = profiles{tides: w.profile(tides)}
	w.h = &eventstore.Handler{Live: w.store, Catalog: w.store, Clock: w.clock.Now, NewID: rand.Text,
		Collection: func(name string) string { p, _ := w.set.Get(name); return p.Collection }}
	objects, err := store.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work, err := store.OpenWork(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	client, err := fetch.NewClient(fetch.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); _ = work.Close(); _ = objects.Close() })
	w.history = memory.NewLog(w.clock)
	w.cfg = Config{Handler: w.h, Claims: w.store, Space: w.store, Order: w.store, Hosts: w.store, Outbox: w.store, Files: &files.Handler{Log: w.history, Clock: w.clock.Now, NewID: rand.Text}, Profiles: w.set, Fetch: client, Mail: w.mail,
		Objects: objects, Work: work, Installation: "test", Log: slog.New(slog.NewJSONHandler(w.log, nil)),
		RetryDelay: time.Millisecond, SpaceReserve: 1, SpaceCycle: time.Second}
	for _, c := range change {
		c(w)
	}
	if w.cfg.Records == (Records{}) {
		w.db = projtest.DB(t)
		w.records = record.New(w.db)
		w.cfg.Records = Records{w.records, w.records, w.records, w.records, w.records}
	}
	if w.r, err = New(w.cfg); err != nil {
		t.Fatal(err)
	}
	return w
}

// profile is one that may reach the depositor's server.
func (w *fixture) profile(name string) profile.Profile {
	p := profile.Defaults()
	p.Name, p.Collection, p.Owner = name, name, "Harbour Office"
	p.Identifier.NAAN, p.Identifier.Shoulder = "99999", "fk4"
	p.Fetch.Allow, p.Fetch.Attempts = []string{strings.TrimPrefix(w.web.URL, "http://")}, 2
	return p
}

// noRecords is for tests of steps that keep nothing in SQL but digests: using it panics.
func noRecords(w *fixture) {
	w.cfg.Records = Records{struct{ Identities }{}, struct{ Inventory }{}, struct{ Deliveries }{}, noURLs{}, nil}
}

type noURLs struct{ URLs }

func (noURLs) KeepDeposit(context.Context, domain.BatchID, domain.Submission) (domain.BatchID, error) {
	return "", nil
}

// requeue sends a failed job back, after its batch was reported.
func (w *fixture) requeue(id domain.JobID) {
	w.Helper()
	if w.batch(w.job(id).Configuration.BatchID).State == domain.BatchReporting {
		w.turn(domain.DaemonBatchReporting)
	}
	w.doJob(id, domain.RequeueJob{})
}

// submit deposits what the server has at path.
func (w *fixture) submit(kind domain.SubmissionType, path string, change ...func(*domain.Submission)) domain.BatchID {
	w.Helper()
	id, err := w.store.ReserveBatchID(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	s := domain.Submission{ProfileName: tides, Submitter: "ana", PayloadURL: w.web.URL + path, Type: kind, SubmissionMode: "add",
		ErcWho: "Harbour Office", ErcWhat: "Tide tables", ErcWhen: "1923"}
	for _, c := range change {
		c(&s)
	}
	w.doBatch(id, domain.SubmitBatch{Submission: s})
	return id
}

func operator() eventstore.Meta { return eventstore.Meta{Actor: domain.UserActor("ana")} }

func (w *fixture) doBatch(id domain.BatchID, cmd domain.BatchCommand) {
	w.Helper()
	if _, err := w.h.Batch(w.Context(), id, cmd, operator()); err != nil {
		w.Fatal(err)
	}
}

func (w *fixture) doJob(id domain.JobID, cmd domain.JobCommand) {
	w.Helper()
	if _, err := w.h.Job(w.Context(), id, cmd, operator()); err != nil {
		w.Fatal(err)
	}
}

func (w *fixture) hold(on bool) {
	w.Helper()
	var h *domain.Hold
	if on {
		h = &domain.Hold{By: "ana", Why: "a test"}
	}
	if _, err := w.h.Hold(w.Context(), domain.HoldCollection, tides, h, "a test", operator()); err != nil {
		w.Fatal(err)
	}
}

func (w *fixture) batch(id domain.BatchID) domain.Batch {
	w.Helper()
	at, err := w.store.Batch(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	return at.State
}

func (w *fixture) job(id domain.JobID) domain.Job {
	w.Helper()
	at, err := w.store.Job(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	return at.State
}

func daemonNamed(name string) Daemon {
	for _, d := range Daemons {
		if d.Name == name {
			return d
		}
	}
	panic("no daemon is called " + name)
}

// turn lets a daemon do its next piece of work.
func (w *fixture) turn(name string) { w.Helper(); w.turnOf(daemonNamed(name)) }

func (w *fixture) turnOf(d Daemon) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	defer w.leads(d)()
	t, err := w.r.claim(ctx, d)
	if err != nil {
		w.Fatalf("%s has nothing to do: %v\n%s", d.Name, err, w.log)
	}
	t.run(w.Context())
}

// untilMoved lets a daemon work until the job has left its state, past all pauses.
func (w *fixture) untilMoved(id domain.JobID, name string) domain.Job {
	w.Helper()
	before := w.job(id).State
	for range 30 {
		w.turn(name)
		if j := w.job(id); j.State != before {
			return j
		}
		w.clock.Advance(15 * time.Minute)
	}
	w.Fatalf("%s stays %s\n%s", id, before, w.log)
	return domain.Job{}
}

// leads makes the process the leader that a daemon asks for, until resign is called.
func (w *fixture) leads(d Daemon) (resign func()) {
	w.Helper()
	if d.Job != domain.JobProvisioning {
		return func() {}
	}
	_, resign, err := w.r.steps.space.Lead(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return resign
}

// walk lets the daemons work one after the other.
func (w *fixture) walk(names ...string) {
	w.Helper()
	for _, n := range names {
		w.turn(n)
	}
}

// upTo names the job daemons before a state, in their order.
func upTo(state domain.JobState) []string {
	var names []string
	for _, d := range Daemons {
		if d.Job == state {
			return names
		}
		if d.Job != "" {
			names = append(names, d.Name)
		}
	}
	return names
}

// jobIn deposits one payload and brings its job into a state.
func (w *fixture) jobIn(state domain.JobState, kind domain.SubmissionType, path string, change ...func(*domain.Submission)) domain.JobID {
	w.Helper()
	id := w.submit(kind, path, change...)
	w.turn(domain.DaemonBatchPending)
	jid := w.batch(id).Listing.FirstJID
	for _, name := range upTo(state) {
		w.untilMoved(jid, name)
	}
	if j := w.job(jid); j.State != state {
		w.Fatalf("job is %s, not %s: %+v\n%s", j.State, state, j.Reason, w.log)
	}
	return jid
}

// wantJob checks a job's state and the code of its reason, "" = none.
func (w *fixture) wantJob(id domain.JobID, state domain.JobState, code domain.Code) domain.Job {
	w.Helper()
	j := w.job(id)
	got := domain.Code("")
	if j.Reason != nil {
		got = j.Reason.Code
	}
	if j.State != state || got != code {
		w.Errorf("%s is %s with %+v; want %s with code %q\n%s", id, j.State, j.Reason, state, code, w.log)
	}
	return j
}

// codeOf returns the code of a job's reason.
func (w *fixture) codeOf(id domain.JobID) domain.Code {
	if r := w.job(id).Reason; r != nil {
		return r.Code
	}
	return ""
}

// events lists the types of an aggregate's events.
func (w *fixture) events(a domain.Aggregate) (types []domain.EventType) {
	w.Helper()
	for _, e := range w.recorded(a) {
		types = append(types, e.Type)
	}
	return types
}

// recorded lists an aggregate's events.
func (w *fixture) recorded(a domain.Aggregate) (events []domain.Recorded) {
	w.Helper()
	for shard := range w.store.Shards() {
		items, err := w.store.Read(w.Context(), shard, eventstore.Offset{}, 1_000_000)
		if err != nil {
			w.Fatal(err)
		}
		for _, it := range items {
			for _, e := range it.Events {
				if e.Aggregate == a {
					events = append(events, e)
				}
			}
		}
	}
	return events
}

func count(types []domain.EventType, of domain.EventType) int {
	n := 0
	for _, t := range types {
		if t == of {
			n++
		}
	}
	return n
}

// report reads the whole report of a batch.
func (w *fixture) report(id domain.BatchID) report.Body {
	w.Helper()
	r := w.batch(id).Report
	if r == nil {
		w.Fatalf("%s has no report", id)
	}
	key, _ := store.KeyOf(r.ReportURL)
	data, err := w.r.steps.Kept(w.Context(), key)
	if err != nil || report.SHA256(data) != r.ReportSHA256 {
		w.Fatalf("report %s: %v, or its digest differs", r.ReportURL, err)
	}
	var body report.Body
	if err := json.Unmarshal(data, &body); err != nil {
		w.Fatal(err)
	}
	return body
}

// mailbox takes mails.
type mailbox struct {
	mu    sync.Mutex
	mails []delivery.Mail
	fails bool
}

func (m *mailbox) Send(_ context.Context, mail delivery.Mail) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails {
		return errors.New("the mail drop is full")
	}
	m.mails = append(m.mails, mail)
	return nil
}

// logbook keeps the log for failing tests.
type logbook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logbook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
