package memory

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
)

// LoadEntry implements eventstore.Entries.
func (s *Store) LoadEntry(ctx context.Context, id compute.ID) (eventstore.Loaded[compute.Entry], error) {
	return load(ctx, s.server, s.server.entries, id, id.Aggregate())
}

// EntryOfKey implements eventstore.Entries.
func (s *Store) EntryOfKey(ctx context.Context, key string) (compute.ID, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	id := s.server.entryOf(key)
	if id == "" {
		return "", failed("find the entry of a key", domain.Aggregate{Kind: domain.KindEntry}, eventstore.ErrNotFound, "")
	}
	return id, ctx.Err()
}

// entryOf returns the entry of a key, "" = there is none. The mutex is held.
func (srv *Server) entryOf(key string) compute.ID {
	for id, r := range srv.entries {
		if r.state.Work.Key == key {
			return id
		}
	}
	return ""
}

// ReserveEntryID implements eventstore.Entries.
func (s *Store) ReserveEntryID(ctx context.Context) (compute.ID, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.lastEID++
	return compute.NewID(s.server.lastEID), ctx.Err()
}

// TakeEntry implements eventstore.Entries.
func (s *Store) TakeEntry(ctx context.Context, wants compute.Wants, write func(eventstore.Take) error) error {
	for {
		var t eventstore.Take
		err := s.server.wait(ctx, nil, func() bool {
			if s.server.paused(domain.QueueIngest) {
				return false
			}
			var q compute.Queue
			for _, r := range s.server.entries {
				if r.state.State == entry.Pending {
					q.Put(compute.Waiting{Name: r.state.Name(), Passed: r.state.Passed})
				}
			}
			c, ok := q.Choose(wants)
			if !ok {
				return false
			}
			at := s.server.entries[compute.NewID(c.Take.Sequence)].loaded()
			t = eventstore.Take{Entry: at, HoldsVersion: s.server.holds.Version}
			for _, p := range c.Passed {
				t.Passed = append(t.Passed, s.server.entries[compute.NewID(p.Sequence)].loaded())
			}
			s.number++
			t.Claim = &eventstore.Claim{ID: s.worker + "-entry-" + strconv.Itoa(s.number), Worker: s.worker, Aggregate: at.State.ID.Aggregate(), Attempts: at.State.Attempt + 1, Lost: s.lost}
			return true
		})
		if err == nil {
			err = write(t)
		}
		if !errors.Is(err, eventstore.ErrConflict) || errors.Is(err, eventstore.ErrFenced) || ctx.Err() != nil {
			return err
		}
	}
}

// RunEntry implements eventstore.Entries. The state of a worker is nowhere to be seen here.
func (s *Store) RunEntry(ctx context.Context, c *eventstore.Claim, at eventstore.Loaded[compute.Entry]) error {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	r := s.server.entries[at.State.ID]
	if r == nil || r.token != at.Token || s.server.locks[c.Aggregate] != c {
		return failed("run", c.Aggregate, eventstore.ErrFenced, "")
	}
	return ctx.Err()
}

// EntryIDs implements eventstore.Entries.
func (s *Store) EntryIDs(ctx context.Context) (ids eventstore.EntryIDs, err error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	for id, r := range s.server.entries {
		switch r.state.State {
		case entry.Pending:
			ids.Waiting = append(ids.Waiting, id)
		case entry.Staging:
			ids.Owned = append(ids.Owned, id)
		case entry.Successful:
			ids.Done = append(ids.Done, id)
		default:
			ids.Failed = append(ids.Failed, id)
		}
	}
	for _, list := range [][]compute.ID{ids.Waiting, ids.Owned, ids.Done, ids.Failed} {
		slices.Sort(list)
	}
	return ids, ctx.Err()
}

// OrphanEntries implements eventstore.Entries.
func (s *Store) OrphanEntries(ctx context.Context) (ids []compute.ID, err error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	for id, r := range s.server.entries {
		if r.state.State == entry.Staging && s.server.locks[id.Aggregate()] == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, ctx.Err()
}
