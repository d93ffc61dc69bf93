package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
)

// Commit implements eventstore.Live: it checks everything first, then writes
// everything, under one mutex.
func (s *Store) Commit(ctx context.Context, changes ...eventstore.Change) ([]eventstore.Committed, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	srv := s.server
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if done := srv.doneBefore(changes); done != nil {
		return done, nil
	}
	seen := map[domain.Aggregate]bool{}
	for _, c := range changes {
		if seen[c.Aggregate()] {
			return nil, failed("commit", c.Aggregate(), eventstore.ErrConflict, "two changes of it in one commit")
		}
		seen[c.Aggregate()] = true
		err := s.prove(c)
		if err == nil {
			err = s.proveRing(c)
		}
		if err != nil {
			return nil, failed("commit", c.Aggregate(), err, "")
		}
	}
	items, err := srv.items(changes)
	if err != nil {
		return nil, err
	}
	if err := srv.moveRows(changes); err != nil {
		return nil, err
	}
	srv.zxid++
	done := make([]eventstore.Committed, len(changes))
	for i, c := range changes {
		done[i] = eventstore.Committed{Token: srv.write(c), Zxid: srv.zxid}
		srv.writeRing(c)
		if done[i].Claim = c.NewClaim(); c.EntryClaim != nil {
			srv.locks[c.Aggregate()] = srv.held(c.EntryClaim)
		}
		if c.Lease != nil {
			delete(srv.locks, c.Aggregate())
		}
		delete(srv.claims, c.Aggregate())
		if c.Leave.Grabbed() {
			srv.claims[c.Aggregate()], c.Leave.Claim.Attempts = 1, 1
		}
		if c.Claim != nil && !c.KeepClaim && c.Claim.Aggregate == c.Aggregate() {
			delete(srv.locks, c.Aggregate())
			if c.HandsOver() && s.comesFirst(srv.jobs[c.Job.To.ID].state) {
				done[i].Claim = s.lock(c.Aggregate())
			}
		}
	}
	srv.put(items)
	srv.signal()
	return done, nil
}

// doneBefore recognises changes that an earlier try of the same command has
// written; nil = they are new.
func (srv *Server) doneBefore(changes []eventstore.Change) []eventstore.Committed {
	done := make([]eventstore.Committed, len(changes))
	for i, c := range changes {
		var command string
		var version int64
		if c.Batch != nil {
			if r := srv.batches[c.Batch.To.ID]; r != nil {
				command, version, done[i].Token = r.state.CommandID, r.state.Version, r.token
			}
		} else if c.Job != nil {
			if r := srv.jobs[c.Job.To.ID]; r != nil {
				command, version, done[i].Token = r.state.CommandID, r.state.Version, r.token
			}
		} else if c.Query != nil {
			if r := srv.asked[c.Query.To.ID]; r != nil {
				command, version, done[i].Token = r.state.CommandID, r.state.Version, r.token
			}
		} else if c.Entry != nil {
			if r := srv.entries[c.Entry.To.ID]; r != nil {
				command, version, done[i].Token = r.state.CommandID, r.state.Version, r.token
			}
		}
		if n := len(c.Events); n == 0 || command == "" || command != c.Events[n-1].CommandID || version != c.Events[n-1].Version {
			return nil
		}
	}
	return done
}

// prove checks a change's fence, token and requirements. The mutex is held.
func (s *Store) prove(c eventstore.Change) error {
	srv, a := s.server, c.Aggregate()
	if c.Claim != nil && (c.Claim.Worker != s.worker || srv.locks[c.Claim.Aggregate] != c.Claim) {
		return eventstore.ErrFenced
	}
	var ok bool
	switch {
	case c.Batch != nil:
		ok = current(srv.batches[c.Batch.To.ID], c.Batch.From.Version, c.Token)
	case c.Job != nil:
		ok = current(srv.jobs[c.Job.To.ID], c.Job.From.Version, c.Token)
	case c.Query != nil:
		ok = current(srv.asked[c.Query.To.ID], c.Query.From.Version, c.Token)
	case c.Entry != nil:
		ok = current(srv.entries[c.Entry.To.ID], c.Entry.From.Version, c.Token) && (c.Entry.From.Version > 0 || srv.entryOf(c.Entry.To.Work.Key) == "")
		switch {
		case c.EntryClaim != nil && c.EntryClaim.Worker != s.worker:
			return eventstore.ErrFenced
		case c.EntryClaim != nil && srv.locks[a] != nil:
			return eventstore.ErrLocked
		}
	default:
		ok = current(srv.settings[a], c.Setting.From.Version, c.Token)
	}
	if !ok {
		return eventstore.ErrConflict
	}
	if c.SpaceTerm != nil && *c.SpaceTerm != srv.spaceTerm {
		return eventstore.ErrFenced
	}
	if c.Require.Holds && c.HoldsVersion != srv.holds.Version || c.ProfilesVersion != nil && *c.ProfilesVersion != srv.profiles {
		return eventstore.ErrConflict
	}
	if c.Require.Batch && c.Job != nil {
		if b := srv.batches[c.Job.To.Configuration.BatchID]; b == nil || b.token != c.BatchToken {
			return eventstore.ErrConflict
		}
	}
	switch lock := srv.locks[a]; {
	case c.Lease != nil && (lock == nil || lock.Lease == nil || lock.Lease.Version != c.Lease.Version):
		return eventstore.ErrConflict
	case c.Require.Unlocked && c.Lease == nil && lock != nil && lock != c.Claim:
		return eventstore.ErrLocked
	case c.EntryClaim != nil && c.EntryClaim.Lease != nil && srv.taken(c.EntryClaim.Lease):
		return eventstore.ErrRepeated
	}
	for _, sub := range c.Require.Empty {
		if len(srv.in(c.Batch.To.ID, sub)) > 0 {
			return eventstore.ErrConflict
		}
	}
	if c.Require.Idle != nil && !srv.idle(c.Batch.To.ID, c.Require.Idle) {
		return eventstore.ErrConflict
	}
	return nil
}

// idle reports whether exactly these jobs of the batch are being processed, and
// none is locked.
func (srv *Server) idle(batch domain.BatchID, jobs []domain.JobID) bool {
	open := srv.in(batch, domain.SubProcessing)
	slices.Sort(open)
	if !slices.Equal(open, slices.Sorted(slices.Values(jobs))) {
		return false
	}
	return !slices.ContainsFunc(jobs, func(j domain.JobID) bool { return srv.locks[j.Aggregate()] != nil })
}

// current compares a token; version 0 asks that nothing is there.
func current[S any](r *register[S], version int64, token eventstore.Token) bool {
	if version == 0 {
		return r == nil
	}
	return r != nil && r.token == token
}

// moveRows compares and sets the progress of a batch whose jobs are made. It is
// the last proof.
func (srv *Server) moveRows(changes []eventstore.Change) error {
	var batch domain.BatchID
	first, rows := -1, 0
	for _, c := range changes {
		if c.NextRow == nil {
			continue
		}
		if first < 0 {
			first, batch = *c.NextRow, c.Job.To.Configuration.BatchID
		}
		rows++
	}
	if first < 0 {
		return nil
	}
	r := srv.batches[batch]
	if r == nil {
		return failed("make jobs of", batch.Aggregate(), eventstore.ErrNotFound, "")
	}
	if r.state.Listing == nil || r.state.NextRow != first || first+rows > r.state.Listing.Rows {
		return failed("make jobs of", batch.Aggregate(), eventstore.ErrConflict, fmt.Sprintf("row %d is next, not %d", r.state.NextRow, first))
	}
	r.state.NextRow += rows
	return nil
}

// write puts a proven change into the maps and returns the new token.
func (srv *Server) write(c eventstore.Change) eventstore.Token {
	switch {
	case c.Batch != nil:
		after := c.Batch.To
		if r := srv.batches[after.ID]; r != nil {
			after.NextRow = r.state.NextRow // moves with the jobs, not with the batch
		}
		return set(srv.batches, after.ID, after)
	case c.Job != nil:
		return srv.writeJob(c.Job.To)
	case c.Query != nil:
		return set(srv.asked, c.Query.To.ID, c.Query.To)
	case c.Entry != nil:
		if c.Entry.To.State == entry.Purged {
			delete(srv.entries, c.Entry.To.ID)
			return 0
		}
		return set(srv.entries, c.Entry.To.ID, c.Entry.To)
	default:
		a, after := c.Aggregate(), c.Setting.To
		srv.queues.written(after)
		if after.Kind == domain.SettingProfile {
			srv.profiles++
		}
		if !after.Kind.Stops() {
			return set(srv.settings, a, after)
		}
		holds := srv.holds.Collections
		if after.Kind == domain.HoldQueue {
			holds = srv.holds.Queues
		}
		delete(holds, after.Name)
		if after.Hold != nil {
			holds[after.Name] = *after.Hold
		}
		srv.holds.Version++
		return set(srv.settings, a, after)
	}
}

func (srv *Server) writeJob(j domain.Job) eventstore.Token {
	batch := j.Configuration.BatchID
	if j.State == domain.JobDeleted {
		delete(srv.refs[batch], j.ID)
		delete(srv.jobs, j.ID)
		return 0
	}
	if srv.refs[batch] == nil {
		srv.refs[batch] = map[domain.JobID]domain.Sub{}
	}
	srv.refs[batch][j.ID] = j.State.Sub()
	return set(srv.jobs, j.ID, j)
}

func set[K comparable, S any](m map[K]*register[S], key K, state S) eventstore.Token {
	r, ok := m[key]
	if !ok {
		m[key] = &register[S]{state: state}
		return 0
	}
	r.state, r.token = state, r.token+1
	return r.token
}
