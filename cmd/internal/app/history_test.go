package app_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/internal/testkit/binarymode"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/rebuild"
)

var record = flag.Bool("record", false, "write the digests of the recorded histories that have none yet")

// TestRecordedHistories: logs that earlier programs wrote give today the tables
// that they gave then, event by event and, from the same events in the other envelope (binary
// mode and structured mode), by a rebuild. A change of the digests is
// a change of meaning: count projections.Version up and have the digests written
// anew. They are of the columns that there were then: new ones need no new digests. The
// logs themselves stay for ever; `make record-history` adds one.
func TestRecordedHistories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/history/*.jsonl.gz")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			log, other := recorded(t, file)
			db := projtest.DB(t)
			stream := projections.StreamInfo{Name: "recorded", Created: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Last: uint64(len(log))}
			p, err := projections.New(projections.Config{DB: db, Stream: stream, Source: sourceOf(log), MaxBatch: 100,
				Held: func(e *projections.EventError) { t.Error(e) }})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Run(ctx); err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(file, ".jsonl.gz") + ".digests.json"
			if *record {
				keep(t, golden, projtest.Digests(t, db))
			}
			data, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]projtest.Digest
			if err := json.Unmarshal(data, &want); err != nil || len(want) < 10 {
				t.Fatal(want, err)
			}
			if diff := cmp.Diff(want, projtest.DigestsOf(t, db, want)); diff != "" {
				t.Fatal(diff)
			}
			done, err := rebuild.Run(ctx, rebuild.Config{Pool: db, Stream: stream, Source: sourceOf(other),
				Last: func(context.Context) (uint64, error) { return stream.Last, nil }})
			if err != nil || done.Compared != "" || done.At != int64(len(log)) {
				t.Fatalf("%+v, %v", done, err)
			}
			if diff := cmp.Diff(want, projtest.DigestsOf(t, db, want)); diff != "" {
				t.Fatalf("rebuilt:\n%s", diff)
			}
		})
	}
}

// keep writes digests, unless there are some.
func keep(t *testing.T, file string, digests map[string]projtest.Digest) {
	t.Helper()
	data, err := json.MarshalIndent(digests, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, os.ErrExist) {
		return
	}
	if err == nil {
		_, err = f.Write(append(data, '\n'))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// recorded decodes a log as it was written, and brings it up to today's events. other are
// the same events, decoded from the other envelope.
func recorded(t *testing.T, file string) (log, other []domain.Recorded) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(z)
	for {
		var m struct {
			Seq     uint64
			Stored  time.Time
			Subject string
			Header  map[string][]string
			Data    json.RawMessage
		}
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return log, other
		} else if err != nil {
			t.Fatal(err)
		}
		r, err := codec.Decode(codec.Message{Subject: m.Subject, Header: m.Header, Data: m.Data})
		if err != nil {
			t.Fatal(err)
		}
		inOther := codec.Encode
		if m.Header[codec.HeaderContentType][0] == "application/cloudevents+json" {
			inOther = binarymode.Encode
		}
		message, err := inOther(r, "")
		if err != nil {
			t.Fatal(err)
		}
		o, err := codec.Decode(message)
		if err != nil {
			t.Fatal(err)
		}
		r.Seq, r.Stored, o.Seq, o.Stored = m.Seq, m.Stored, m.Seq, m.Stored
		log, other = append(log, r), append(other, o)
	}
}

func sourceOf(log []domain.Recorded) projections.Source {
	return func(_ context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
		return func(yield func(domain.Recorded, error) bool) {
			for _, r := range log[from-1:] {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}
