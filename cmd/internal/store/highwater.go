package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/accession-ingest/accession/domain/highwater"
)

// marksPrefix begins the keys of high-water marks. Each has a key of its own: the store
// cannot compare before it replaces, and a process that stood still must not put an older
// mark in place of a newer one.
const marksPrefix = "marks/"

func markKey(round int64) string { return fmt.Sprintf("%s%012d.json", marksPrefix, round) }

// HighWater returns the highest mark, with round 0 if there is none.
func (s *Store) HighWater(ctx context.Context) (m highwater.Mark, err error) {
	for {
		last := ""
		for o, err := range s.List(ctx, marksPrefix) {
			if err != nil {
				return m, err
			}
			last = max(last, o.Key)
		}
		if last == "" {
			return m, nil
		}
		r, err := s.Get(ctx, last)
		if CodeOf(err) == CodeNotFound { // replaced by a later one meanwhile
			continue
		}
		if err != nil {
			return m, err
		}
		data, err := io.ReadAll(io.LimitReader(r, 1<<12))
		if e := r.Close(); err == nil {
			err = e
		}
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		if err != nil {
			err = &Error{Code: CodeMismatch, Op: "read", Key: last, Hint: "it is not a high-water mark; remove it", Err: err}
		}
		return m, err
	}
}

// KeepHighWater stores a mark and removes those of rounds before the last one. A mark of
// the same round that is there stays.
func (s *Store) KeepHighWater(ctx context.Context, m highwater.Mark) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	key := markKey(m.Round)
	if _, err := s.PutIfAbsent(ctx, key, bytes.NewReader(data)); err != nil && CodeOf(err) != CodeConflict {
		return err
	}
	for o, err := range s.List(ctx, marksPrefix) {
		if err != nil {
			return err
		}
		if o.Key < markKey(m.Round-1) {
			if err := s.Delete(ctx, o.Key); err != nil {
				return err
			}
		}
	}
	return nil
}
