// Package marks keeps high-water marks in an object store: numbers by which an older copy of a
// server's data is noticed.
package marks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain/highwater"
)

// Marks are the high-water marks of an object store.
type Marks struct{ Store *store.Store }

// prefix begins the keys of high-water marks. Each has a key of its own: the store
// cannot compare before it replaces, and a process that stood still must not put an older
// mark in place of a newer one.
const prefix = "marks/"

func markKey(round int64) string { return fmt.Sprintf("%s%012d.json", prefix, round) }

// HighWater returns the highest mark, with round 0 if there is none.
func (m Marks) HighWater(ctx context.Context) (highest highwater.Mark, err error) {
	for {
		last := ""
		for o, err := range m.Store.List(ctx, prefix) {
			if err != nil {
				return highest, err
			}
			last = max(last, o.Key)
		}
		if last == "" {
			return highest, nil
		}
		r, err := m.Store.Get(ctx, last)
		if store.CodeOf(err) == store.CodeNotFound { // replaced by a later one meanwhile
			continue
		}
		if err != nil {
			return highest, err
		}
		data, err := io.ReadAll(io.LimitReader(r, 1<<12))
		if e := r.Close(); err == nil {
			err = e
		}
		if err == nil {
			err = json.Unmarshal(data, &highest)
		}
		if err != nil {
			err = &store.Error{Code: store.CodeMismatch, Op: "read", Key: last, Hint: "it is not a high-water mark; remove it", Err: err}
		}
		return highest, err
	}
}

// KeepHighWater stores a mark and removes those of rounds before the last one. A mark of
// the same round that is there stays.
func (m Marks) KeepHighWater(ctx context.Context, mark highwater.Mark) error {
	data, err := json.Marshal(mark)
	if err != nil {
		return err
	}
	key := markKey(mark.Round)
	if _, err := m.Store.PutIfAbsent(ctx, key, bytes.NewReader(data)); err != nil && store.CodeOf(err) != store.CodeConflict {
		return err
	}
	for o, err := range m.Store.List(ctx, prefix) {
		if err != nil {
			return err
		}
		if o.Key < markKey(mark.Round-1) {
			if err := m.Store.Delete(ctx, o.Key); err != nil {
				return err
			}
		}
	}
	return nil
}
