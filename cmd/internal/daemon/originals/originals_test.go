package originals

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/projections/projtest"
)

// place is an installation: batches and log in memory, an object store in a directory,
// records in PostgreSQL.
type place struct {
	*testing.T
	clock   *memory.ManualClock
	live    *memory.Store
	log     *memory.Log
	handler *eventstore.Handler
	objects *store.Store
	records *record.Records
	dir     string // of the object store
	db      *pgxpool.Pool
	batches liveBatches
	r       *Remover
	public  string // the form of the URL that shows no secret
}

func newPlace(t *testing.T, retention time.Duration) *place {
	clock := memory.NewManualClock(time.Now())
	p := &place{T: t, clock: clock, live: memory.New(memory.Options{Clock: clock}).Session(), log: memory.NewLog(clock), dir: t.TempDir(), db: projtest.DB(t)}
	p.records = record.New(p.db)
	p.handler = &eventstore.Handler{Live: p.live, Catalog: p.live, Clock: clock.Now, NewID: rand.Text, Collection: func(string) string { return "tides" }}
	var err error
	if p.objects, err = store.Open(t.Context(), p.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.objects.Close() })
	p.r = &Remover{Batches: &p.batches, Log: p.log, Objects: p.objects, URLs: p.records, Sound: func(context.Context) error { return nil },
		Retention: retention, Now: clock.Now, Logger: slog.New(slog.DiscardHandler)}
	return p
}

// batch makes a batch now.
func (p *place) batch() {
	p.Helper()
	id, err := p.live.ReserveBatchID(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	res, err := p.handler.Batch(p.Context(), id, domain.SubmitBatch{Submission: domain.Submission{ProfileName: "tides", Submitter: "ana",
		PayloadURL: "https://files.test/a.csv", Type: "file", SubmissionMode: "add"}}, eventstore.Meta{Actor: domain.UserActor("ana")})
	if err != nil {
		p.Fatal(err)
	}
	for _, e := range res.Events {
		if _, err := p.log.Append(p.Context(), []eventstore.Append{{Event: e}}); err != nil {
			p.Fatal(err)
		}
	}
	p.batches = append(p.batches, id)
}

// liveBatches are the batches of the live state.
type liveBatches []domain.BatchID

func (l *liveBatches) Batches(context.Context) ([]domain.BatchID, error) { return *l, nil }

const signed = "https://files.test/a.csv?token=s3cret"

// send keeps an upload, a copy of a manifest and a URL with a secret.
func (p *place) send() {
	p.Helper()
	_, _, err := p.objects.KeepUpload(p.Context(), "a.csv", strings.NewReader("1,2\n"))
	if err == nil {
		_, err = p.objects.KeepManifest(p.Context(), domain.NewBatchID(1), ".checkm", []byte(signed))
	}
	if err == nil {
		_, err = p.objects.Put(p.Context(), "reports/1.json", strings.NewReader("{}"))
	}
	if err == nil {
		p.public, err = p.records.KeepURL(p.Context(), signed)
	}
	if err != nil {
		p.Fatal(err)
	}
}

// kept fails the test unless there are so many originals.
func (p *place) kept(files int, url bool) {
	p.Helper()
	n, reports := 0, 0
	for o, err := range p.objects.List(p.Context(), "") {
		if err != nil {
			p.Fatal(err)
		}
		if strings.HasPrefix(o.Key, "reports/") {
			reports++
		} else if !strings.HasPrefix(o.Key, "marks/") {
			n++
		}
	}
	_, err := p.records.FullURL(p.Context(), p.public)
	if n != files || reports != 1 || (err == nil) != url {
		p.Errorf("%d files, %d reports, %v; want %d files, one report, the URL: %t", n, reports, err, files, url)
	}
}

func (p *place) once() {
	p.Helper()
	if _, _, err := p.r.Once(p.Context()); err != nil {
		p.Fatal(err)
	}
}

// What depositors sent stays for the retention, and while the live state has a batch that
// is as old; then it is removed, and what was made of it stays.
// Shows: P14
func TestOriginalsAreRemoved(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 14*day)
	p.send()
	p.batch()
	p.clock.Advance(13 * day)
	p.once()
	p.kept(2, true)
	p.clock.Advance(2 * day)
	p.once()
	p.kept(2, true) // the batch may still read them
	p.batch()
	p.batches = p.batches[1:] // the first is gone
	p.clock.Advance(day - time.Minute)
	p.once()
	p.kept(0, false)
	if files, urls, err := p.r.Once(t.Context()); files+urls > 0 || err != nil {
		t.Errorf("removed again: %d files, %d URLs, %v", files, urls, err)
	}
}

// What is sent again is as if it were new: the batch that is made of it finds it.
func TestWhatIsSentAgainStays(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 14*day)
	p.send()
	long := time.Now().Add(-100 * day)
	err := filepath.WalkDir(p.dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, long, long))
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.db.Exec(t.Context(), "update record.payload_url set kept_at = $1", long); err != nil {
		t.Fatal(err)
	}
	p.send()
	p.once()
	p.kept(1, true) // not the manifest, which is of a batch that is gone
}

// Nothing is removed if it is not certain what the live state has, or nothing ever shall be.
func TestOriginalsStay(t *testing.T) {
	t.Parallel()
	older := errors.New("the live state is an older copy")
	for _, c := range []struct {
		name   string
		change func(p *place)
		err    string
	}{
		{"an older copy", func(p *place) { p.r.Sound = func(context.Context) error { return older } }, older.Error()},
		{"for ever", func(p *place) { p.r.Retention = 0 }, ""},
		{"a batch that the log does not know yet", func(p *place) { p.batch(); p.r.Log = memory.NewLog(p.clock) }, "the log has no event of"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, 14*day)
			p.send()
			p.clock.Advance(100 * day)
			c.change(p)
			_, _, err := p.r.Once(t.Context())
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v, want %q", err, c.err)
			}
			p.kept(2, true)
		})
	}
}
