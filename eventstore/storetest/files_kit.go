package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
)

// NewFileHandler returns a handler of files with the system's clock and random
// command ids.
func NewFileHandler(l eventstore.Log) *files.Handler {
	return &files.Handler{Log: l, Clock: time.Now, NewID: rand.Text}
}

// FileSpec returns the n-th file of job 1.
func FileSpec(n int) domain.FileSpec {
	job := domain.NewJobID(1)
	return domain.FileSpec{Source: string(job), Path: fmt.Sprintf("tides/%d.tif", n), BatchID: domain.NewBatchID(1), JobID: job,
		URL: fmt.Sprintf("http://files.test/tides/%d.tif", n), Size: 20}
}

// discoveries returns the commands for the first n files.
func discoveries(n int) []domain.DiscoverFile {
	all := make([]domain.DiscoverFile, n)
	for i := range all {
		all[i] = domain.DiscoverFile{Spec: FileSpec(i + 1)}
	}
	return all
}

// Limits with which tests of files begin attempts.
var (
	once   = domain.Limits{Max: 1, Timeout: time.Millisecond}
	thrice = domain.Limits{Max: 3, Timeout: time.Hour}
)

func both(l domain.Limits) domain.FileLimits { return domain.FileLimits{Download: l, Processing: l} }

const digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// fileKit drives files; what is refused ends the test.
type fileKit struct {
	logKit
	h *files.Handler
}

func newFileKit(t testing.TB, l eventstore.Log) fileKit {
	return fileKit{logKit{t, l}, NewFileHandler(l)}
}

func fileOrder() eventstore.Meta {
	return eventstore.Meta{Actor: domain.DaemonActor("test"), CausationID: "job/jid0000000001/3"}
}

func (k fileKit) do(hash domain.FileHash, cmd domain.FileCommand) files.Result {
	k.Helper()
	r, err := k.h.File(k.Context(), hash, cmd, fileOrder())
	if err != nil {
		k.Fatal(err)
	}
	return r
}

// discover makes the first n files known.
func (k fileKit) discover(n int) []domain.FileHash {
	k.Helper()
	all := discoveries(n)
	if fresh, err := k.h.DiscoverAll(k.Context(), all, fileOrder()); err != nil || fresh != n {
		k.Fatalf("%d of %d files are new: %v", fresh, n, err)
	}
	hashes := make([]domain.FileHash, n)
	for i, d := range all {
		hashes[i] = d.Spec.Hash()
	}
	return hashes
}

func (k fileKit) refused(err error, code domain.Code) {
	k.Helper()
	var r *domain.Refused
	if !errors.As(err, &r) || r.Code != code {
		k.Fatalf("got %v, want a refusal with code %s", err, code)
	}
}

func (k fileKit) load(hash domain.FileHash) domain.File {
	k.Helper()
	f, err := k.h.Load(k.Context(), hash)
	if err != nil {
		k.Fatal(err)
	}
	return f
}

// after waits until the log's clock has moved on by more than d.
func (k fileKit) after(d time.Duration) domain.Time {
	k.Helper()
	for first := (domain.Time{}); ; {
		now, err := k.h.Now(k.Context())
		if err != nil {
			k.Fatal(err)
		}
		if first.IsZero() {
			first = now
		}
		if now.Sub(first.Time) > d {
			return now
		}
	}
}

// histories folds the whole log; an illegal history ends the test.
func (k fileKit) histories() map[domain.FileHash][]domain.Recorded {
	k.Helper()
	files := map[domain.FileHash]domain.File{}
	all := map[domain.FileHash][]domain.Recorded{}
	for _, r := range k.read(eventstore.ReadOptions{}) {
		hash := domain.FileHash(r.Aggregate.ID)
		next, err := domain.EvolveFile(files[hash], r)
		if err != nil {
			k.Fatalf("place %d: %v", r.Seq, err)
		}
		files[hash], all[hash] = next, append(all[hash], r)
	}
	return all
}

// Doubtful is a log that loses the answers of some appends.
type Doubtful struct {
	eventstore.Log
	// Lose is asked before each append: whether its question or its answer is lost.
	Lose func() (question, answer bool)
	// Meanwhile is called after a loss, before the caller hears of it.
	Meanwhile func()
}

// Append implements eventstore.Log.
func (d *Doubtful) Append(ctx context.Context, events []eventstore.Append) ([]uint64, error) {
	question, answer := d.Lose()
	if question {
		if d.Meanwhile != nil {
			d.Meanwhile()
		}
		return nil, fmt.Errorf("the question was lost: %w", eventstore.ErrUnknown)
	}
	places, err := d.Log.Append(ctx, events)
	if err == nil && answer {
		if d.Meanwhile != nil {
			d.Meanwhile()
		}
		return nil, fmt.Errorf("the answer was lost: %w", eventstore.ErrUnknown)
	}
	return places, err
}
