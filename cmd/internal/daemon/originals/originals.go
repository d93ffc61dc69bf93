// Package originals removes what depositors sent as they sent it, once no step can read it
// any more: uploaded files and copies of manifests in the object store, and complete payload
// URLs, which may hold a secret, in the records. What was stored of a deposit as objects, its
// history and its reports stay.
package originals

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Remover removes originals that were kept longer ago than the retention, and more than a
// day before the oldest batch of the live state was made. So it needs no list of who reads
// what: no batch reads what was sent that long before it, for a file or a URL that is sent
// again is as if it were new. Any number of processes may do so at once.
type Remover struct {
	Batches   Batches
	Log       Log
	Objects   Objects
	URLs      URLs
	Sound     func(context.Context) error // an error unless no server has an older copy of its data
	Retention time.Duration               // less than a day is a day, 0 = nothing is ever removed
	Now       func() time.Time
	Logger    *slog.Logger
}

// Batches are the batches of the live state; see eventstore.Catalog.
type Batches interface {
	Batches(ctx context.Context) ([]domain.BatchID, error)
}

// Log is the history; see eventstore.Log.
type Log interface {
	Read(ctx context.Context, o eventstore.ReadOptions) iter.Seq2[domain.Recorded, error]
}

// Objects is the object store; see store.Store.
type Objects interface {
	List(ctx context.Context, prefix string) iter.Seq2[store.Info, error]
	Stat(ctx context.Context, key string) (store.Info, error)
	Delete(ctx context.Context, key string) error
}

// URLs are the complete payload URLs; see record.Records.
type URLs interface {
	RemoveURLs(ctx context.Context, keptBefore time.Time) (removed int, err error)
}

// day is the time from one pass to the next, and more than lies between what is sent and
// the batch that is made of it.
const day = 24 * time.Hour

// again is after how long a pass that failed is repeated.
const again = time.Minute

// prefixes are where originals are in the object store.
var prefixes = []string{"uploads/", "manifests/"}

// Run removes originals until ctx ends, at its start and then once a day.
func (r *Remover) Run(ctx context.Context) error {
	for {
		wait := day
		files, urls, err := r.Once(ctx)
		if files+urls > 0 {
			r.Logger.Info("what depositors sent long ago is removed", "files", files, "urls", urls)
		}
		if err != nil && ctx.Err() == nil {
			wait = again
			r.Logger.Warn("what depositors sent long ago is not all removed; it is tried again", "error", err, "pause", wait)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
	}
}

// Once makes one pass, and returns how much it removed. After an error the next one removes
// the rest.
func (r *Remover) Once(ctx context.Context) (files, urls int, err error) {
	if r.Retention <= 0 {
		return 0, 0, nil
	}
	before, err := r.before(ctx)
	if err != nil {
		return 0, 0, err
	}
	for _, prefix := range prefixes {
		for o, err := range r.Objects.List(ctx, prefix) {
			if err != nil {
				return files, 0, err
			}
			removed, err := r.remove(ctx, o, before)
			if err != nil {
				return files, 0, err
			}
			files += removed
		}
	}
	urls, err = r.URLs.RemoveURLs(ctx, before)
	return files, urls, err
}

// before returns when the oldest original that may still be read was kept.
func (r *Remover) before(ctx context.Context) (time.Time, error) {
	if err := r.Sound(ctx); err != nil {
		return time.Time{}, err
	}
	before := r.Now().Add(-max(r.Retention, day))
	ids, err := r.Batches.Batches(ctx)
	if err != nil || len(ids) == 0 {
		return before, err
	}
	oldest := slices.MinFunc(ids, func(a, b domain.BatchID) int { return cmp.Compare(a.Number(), b.Number()) }).Aggregate()
	for made, err := range r.Log.Read(ctx, eventstore.ReadOptions{Aggregate: &oldest}) {
		if err != nil {
			return before, err
		}
		if made := made.Stored.Add(-day); made.Before(before) {
			before = made
		}
		return before, nil
	}
	return before, fmt.Errorf("the log has no event of %s yet, the oldest batch", oldest)
}

// remove removes a file that was kept before, and returns 1, else 0. It asks once more: what
// was listed may have been sent again. The store cannot compare and remove in one step: the
// same bytes under the same name, sent between the two, would be lost.
func (r *Remover) remove(ctx context.Context, o store.Info, before time.Time) (int, error) {
	if !o.Modified.Before(before) {
		return 0, nil
	}
	is, err := r.Objects.Stat(ctx, o.Key)
	if store.CodeOf(err) == store.CodeNotFound {
		return 0, nil // another process was first
	}
	if err != nil || !is.Modified.Before(before) {
		return 0, err
	}
	return 1, r.Objects.Delete(ctx, o.Key)
}
