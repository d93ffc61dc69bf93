package files_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

// guardedLog asks before each append.
type guardedLog struct {
	eventstore.Log
	before  func(events []eventstore.Append) error
	appends int
}

func (l *guardedLog) Append(ctx context.Context, events []eventstore.Append) ([]uint64, error) {
	l.appends++
	if err := l.before(events); err != nil {
		return nil, err
	}
	return l.Log.Append(ctx, events)
}

func discoveries(n int) []domain.DiscoverFile {
	all := make([]domain.DiscoverFile, n)
	for i := range all {
		all[i] = domain.DiscoverFile{Spec: storetest.FileSpec(i)}
	}
	return all
}

// TestFilesTooMuch: what is too much for one write goes in smaller ones, and one
// event that the log cannot take keeps no other out.
func TestFilesTooMuch(t *testing.T) {
	t.Parallel()
	bad := storetest.FileSpec(7).Hash().Aggregate()
	log := &guardedLog{Log: memory.NewLog(nil)}
	log.before = func(events []eventstore.Append) error {
		for _, e := range events {
			if len(events) > 8 || e.Event.Aggregate == bad {
				return fmt.Errorf("no: %w", eventstore.ErrBroken)
			}
		}
		return nil
	}
	h := storetest.NewFileHandler(log)
	fresh, err := h.DiscoverAll(t.Context(), discoveries(100), eventstore.Meta{})
	if fresh != 99 || !errors.Is(err, eventstore.ErrBroken) || !strings.HasPrefix(fmt.Sprint(err), "1 of 100 files") {
		t.Errorf("%d fresh, %v", fresh, err)
	}
	if info, _ := log.Info(t.Context()); info.Last != 99 {
		t.Errorf("%d events", info.Last)
	}
}

// TestFilesWrites: ten thousand discoveries are ten writes, and telling which of a
// thousand are known takes no write for each.
func TestFilesWrites(t *testing.T) {
	t.Parallel()
	log := &guardedLog{Log: memory.NewLog(nil), before: func([]eventstore.Append) error { return nil }}
	h := storetest.NewFileHandler(log)
	if fresh, err := h.DiscoverAll(t.Context(), discoveries(10_000), eventstore.Meta{}); err != nil || fresh != 10_000 || log.appends != 10 {
		t.Errorf("%d fresh in %d writes: %v", fresh, log.appends, err)
	}
	log.appends = 0
	if fresh, err := h.DiscoverAll(t.Context(), discoveries(10_001)[9_001:], eventstore.Meta{}); err != nil || fresh != 1 || log.appends != 2 {
		t.Errorf("%d fresh in %d writes: %v", fresh, log.appends, err)
	}
}

// TestFilesStopped: when the log is away until the context ends, what was written
// is told and everything else has the error.
func TestFilesStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	log := &guardedLog{Log: memory.NewLog(nil)}
	log.before = func([]eventstore.Append) error {
		if log.appends == 2 {
			cancel()
			return fmt.Errorf("away: %w", eventstore.ErrUnknown)
		}
		return nil
	}
	var asks []files.Request
	for _, d := range discoveries(2500) {
		asks = append(asks, files.Request{Hash: d.Spec.Hash(), Command: d})
	}
	results, err := storetest.NewFileHandler(log).All(ctx, asks, eventstore.Meta{})
	if !errors.Is(err, eventstore.ErrUnknown) || len(results) != len(asks) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for i, r := range results {
		if written := i < files.MaxEvents; written != (r.Err == nil) || written != (r.Seq > 0) || !written && !errors.Is(r.Err, eventstore.ErrUnknown) {
			t.Fatalf("file %d: %+v", i, r)
		}
	}
}

// TestFilesGiveUp: a log that refuses for ever is not asked for ever.
func TestFilesGiveUp(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{"conflict": eventstore.ErrConflict, "unknown": eventstore.ErrUnknown} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &guardedLog{Log: memory.NewLog(nil), before: func([]eventstore.Append) error { return answer }}
			h := storetest.NewFileHandler(log)
			if _, err := h.File(t.Context(), storetest.FileSpec(1).Hash(), domain.DiscoverFile{Spec: storetest.FileSpec(1)}, eventstore.Meta{}); !errors.Is(err, answer) {
				t.Errorf("got %v", err)
			}
			if fresh, err := h.DiscoverAll(t.Context(), discoveries(5), eventstore.Meta{}); !errors.Is(err, answer) || fresh != 0 || h.Duplicates() != 0 {
				t.Errorf("%d fresh, %v", fresh, err)
			}
		})
	}
}

// TestFilesDamage: a history that cannot be folded is named with its place, and
// nothing is decided on it.
func TestFilesDamage(t *testing.T) {
	t.Parallel()
	log := memory.NewLog(nil)
	hash := storetest.FileSpec(1).Hash()
	e := domain.Event{Type: domain.EventFileReady, Aggregate: hash.Aggregate(), Version: 1, Data: &domain.FileMoved{}}
	if _, err := log.Append(t.Context(), []eventstore.Append{{Event: domain.Recorded{Event: e}}}); err != nil {
		t.Fatal(err)
	}
	_, err := storetest.NewFileHandler(log).File(t.Context(), hash, domain.ReadyFile{}, eventstore.Meta{})
	var unexpected *domain.Unexpected
	if !errors.Is(err, eventstore.ErrBroken) || !errors.As(err, &unexpected) || !strings.Contains(err.Error(), "sequence 1") {
		t.Errorf("got %v", err)
	}
}

// TestFilesNow: a log without a clock cannot decide timeouts.
func TestFilesNow(t *testing.T) {
	t.Parallel()
	if _, err := storetest.NewFileHandler(memory.NewLog(memory.NewManualClock(time.Time{}))).Now(t.Context()); !errors.Is(err, eventstore.ErrBroken) {
		t.Errorf("got %v", err)
	}
}
