package space

import (
	"errors"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// TestSpaceOfFiles: what is promised to jobs is not promised to files without a job, nor to one
// of these what is promised to another, and jobs wait for what is promised to files.
// Shows: P8
func TestSpaceOfFiles(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	f := NewFiles(a.in, a.dirOf)
	promise := func(path, profile string, bytes int64, want error) (end func()) {
		t.Helper()
		end, err := f.Promise(t.Context(), eventstore.FilePromise{File: domain.HashFile("https://data.example.org/", path), Bytes: bytes, Profile: profile}, 10, func() (int64, error) { return 100, nil })
		if !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Fatalf("%s asks for %d: %v, want %v", path, bytes, err, want)
		}
		return end
	}
	a.asks(1, "", 50, true)
	promise("a", tides, 41, ErrShort)
	end := promise("a", tides, 30, nil)
	promise("a", tides, 0, eventstore.ErrLocked)
	promise("b", tides, 11, ErrShort)
	promise("b", "elsewhere", 90, nil)
	promise("c", "elsewhere", 0, nil)
	a.clock.Advance(recountEvery)
	a.asks(2, "", 11, false)
	a.asks(2, "elsewhere", 1, false)
	a.asks(2, "", 10, true)
	promise("d", tides, 1, ErrShort)
	end()
	a.in.end(1)
	a.Free(domain.NewJobID(1))
	a.clock.Advance(recountEvery)
	promise("d", tides, 80, nil)
	a.clock.Advance(recountEvery)
	a.asks(3, "", 1, false)

	failed := errors.New("no answer")
	a.in.fails = failed
	promise("e", tides, 0, failed)
	if n := len(a.in.files); n != 3 {
		t.Errorf("%d files have a promise, want 3", n)
	}
}
