package wire

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/jslog"
	"github.com/accession-ingest/accession/internal/testkit/cputime"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/rebuild"
)

// tabled is how many events BenchmarkTables takes.
const tabled = 100_000

// BenchmarkTables measures, of the same events of jobs and files in one run: the
// live projector and its lag while they are appended as fast as they go; what the
// servers can do at most (the stream read and thrown away, the history's rows copied,
// encoded beforehand, into a table without indexes and one with them); and a whole
// rebuild from the stream, with indexes, comparison and swap. Rates are events a
// second; processor time, ours and PostgreSQL's, is of the whole rebuild.
func BenchmarkTables(b *testing.B) {
	for range b.N {
		w := newBenchTables(b, lives(b, tabled))
		live := w.live(b)
		read, decoded := w.perSecond(w.readRaw(b)), w.perSecond(w.readDecoded(b))
		bare, indexed := w.copied(b)
		before := cputime.Now(b, os.Getpid())
		replayed, rebuilt := w.rebuild(b)
		cost := cputime.Now(b, os.Getpid()).Since(before)
		for _, m := range []struct {
			name string
			n    float64
		}{
			{"read/s", read}, {"decoded/s", decoded}, {"copied/s", bare}, {"copied-indexed/s", indexed},
			{"live/s", live}, {"live-lag-p50-s", w.lagAt(0.5)}, {"live-lag-max-s", w.lagAt(1)},
			{"live/read", live / read}, {"live/copied", live / bare}, {"live/copied-indexed", live / indexed},
			{"replayed/s", replayed}, {"rebuilt/s", rebuilt},
			{"rebuild-cpu-us/event", cputime.Per(cost.Ours, tabled)}, {"rebuild-postgres-us/event", cputime.Per(cost.Postgres, tabled)},
			{"rebuilt/read", rebuilt / read}, {"rebuilt/copied", rebuilt / bare}, {"rebuilt/copied-indexed", rebuilt / indexed},
			{"ns/op", 0},
		} {
			b.ReportMetric(m.n, m.name)
		}
	}
}

func (w *benchTables) perSecond(took time.Duration) float64 { return float64(w.n) / took.Seconds() }

// benchTables is a log and tables for the same events.
type benchTables struct {
	events []domain.Recorded
	n      int // of them
	nc     *nats.Conn
	log    *jslog.Log
	stream projections.StreamInfo
	db     *pgxpool.Pool
	lags   []time.Duration // of the live projector, after each transaction
}

func newBenchTables(b *testing.B, events []domain.Recorded) *benchTables {
	b.Helper()
	TuneMemory() // as a service does
	name := "test-" + uuid.NewString()
	nc, err := nats.Connect(os.Getenv("ACCESSION_TEST_NATS"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(nc.Close)
	log, err := jslog.Open(b.Context(), nc, jslog.Config{Stream: name, Prefix: name, Instance: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		js, err := jetstream.New(nc)
		if err == nil {
			err = js.DeleteStream(context.Background(), name)
		}
		if err != nil {
			b.Error(err)
		}
	})
	info, err := log.Info(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return &benchTables{events: events, n: len(events), nc: nc, log: log, db: projtest.DB(b),
		stream: projections.StreamInfo{Name: info.Name, Created: info.Created}}
}

// live appends all events while a projector follows, and returns the rate up to the
// last commit.
func (w *benchTables) live(b *testing.B) float64 {
	b.Helper()
	stored := make([]time.Time, len(w.events)) // by place; the source writes before the commit reads
	follow := sourceOf(w.log, true)
	all := make(chan struct{})
	p, err := projections.New(projections.Config{DB: w.db, Stream: w.stream,
		Source: func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
			return func(yield func(domain.Recorded, error) bool) {
				for r, err := range follow(ctx, from) {
					if err == nil {
						stored[r.Seq-1] = r.Stored
					}
					if !yield(r, err) {
						return
					}
				}
			}
		},
		Applied: func(a projections.Applied) {
			first := int(a.Seq) - a.Events // the one that waited longest
			w.lags = append(w.lags, time.Since(stored[first]))
			if int(a.Seq) == len(w.events) {
				close(all)
			}
		}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	began := time.Now()
	last := map[domain.Aggregate]uint64{}
	for some := range slices.Chunk(w.events, jslog.MaxBatch) {
		list := make([]eventstore.Append, len(some))
		for i, r := range some {
			list[i] = eventstore.Append{Event: r, ExpectSeq: last[r.Aggregate]}
		}
		seqs, err := w.log.Append(ctx, list)
		if err != nil {
			b.Fatal(err)
		}
		for i, r := range some {
			last[r.Aggregate] = seqs[i]
		}
	}
	select {
	case <-all:
	case err := <-ended:
		b.Fatal("the projector ended before the log did: ", err)
	}
	took := time.Since(began)
	stop()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	w.events, w.stream.Last = nil, uint64(w.n) // the memory is not theirs any more
	return w.perSecond(took)
}

// lagAt returns the lag that so many transactions stayed under, in seconds.
func (w *benchTables) lagAt(part float64) float64 {
	slices.Sort(w.lags)
	return w.lags[int(part*float64(len(w.lags)-1))].Seconds()
}

// readRaw reads the stream and throws the messages away.
func (w *benchTables) readRaw(b *testing.B) time.Duration {
	b.Helper()
	began := time.Now()
	js, err := jetstream.New(w.nc)
	if err != nil {
		b.Fatal(err)
	}
	c, err := js.OrderedConsumer(b.Context(), w.stream.Name, jetstream.OrderedConsumerConfig{})
	if err != nil {
		b.Fatal(err)
	}
	msgs, err := c.Messages(jetstream.PullMaxMessages(5000))
	if err != nil {
		b.Fatal(err)
	}
	defer msgs.Stop()
	for range w.n {
		if _, err := msgs.Next(jetstream.NextContext(b.Context())); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began)
}

// readDecoded reads the log as a rebuild does.
func (w *benchTables) readDecoded(b *testing.B) time.Duration {
	b.Helper()
	began, n := time.Now(), 0
	for _, err := range sourceOf(w.log, false)(b.Context(), 1) {
		if n++; err != nil {
			b.Fatal(err)
		}
	}
	if n != w.n {
		b.Fatalf("%d events were read, want %d", n, w.n)
	}
	return time.Since(began)
}

// copied copies the history's rows, as PostgreSQL itself encodes them, into tables
// like it, without indexes and with all of them.
func (w *benchTables) copied(b *testing.B) (bare, indexed float64) {
	b.Helper()
	conn, err := w.db.Acquire(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Release()
	var rows bytes.Buffer
	if _, err := conn.Conn().PgConn().CopyTo(b.Context(), &rows, "copy (select * from accession.event) to stdout (format binary)"); err != nil {
		b.Fatal(err)
	}
	rate := func(including string) float64 {
		for _, sql := range []string{"drop table if exists control", fmt.Sprintf("create table control (like accession.event including defaults %s)", including)} {
			if _, err := conn.Exec(b.Context(), sql); err != nil {
				b.Fatal(err)
			}
		}
		began := time.Now()
		tag, err := conn.Conn().PgConn().CopyFrom(b.Context(), bytes.NewReader(rows.Bytes()), "copy control from stdin (format binary)")
		took := time.Since(began)
		if err != nil || tag.RowsAffected() != int64(w.n) {
			b.Fatal(tag, err)
		}
		return w.perSecond(took)
	}
	bare, indexed = rate(""), rate("including indexes")
	if _, err := conn.Exec(b.Context(), "drop table control"); err != nil {
		b.Fatal(err)
	}
	return bare, indexed
}

// rebuild makes the tables anew from the stream. The first rate is that of the
// replay alone.
func (w *benchTables) rebuild(b *testing.B) (replayed, rebuilt float64) {
	b.Helper()
	began, at, phase := time.Now(), time.Now(), "prepare and the first transaction"
	done, err := rebuild.Run(b.Context(), rebuild.Config{Pool: w.db, Stream: w.stream, Source: sourceOf(w.log, false),
		Last: func(ctx context.Context) (uint64, error) {
			info, err := w.log.Info(ctx)
			return info.Last, err
		},
		Progress: func(p rebuild.Progress) {
			if p.Phase != phase {
				b.Logf("%s took %v", phase, time.Since(at).Round(time.Millisecond))
				at, phase = time.Now(), p.Phase
			}
		}})
	took := time.Since(began)
	if err != nil || done.Events != int64(w.n) || done.Compared != "" {
		b.Fatalf("%+v, %v", done, err)
	}
	return w.perSecond(done.Took()), w.perSecond(took)
}
