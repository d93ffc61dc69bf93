package fold

import (
	"context"
	"encoding/json"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// entryState is the state of an entry of the compute queue.
type entryState struct {
	compute.Entry
	rowState
	row pgdb.AccessionComputeEntry
}

func (s *entryState) state() *rowState                    { return &s.rowState }
func (s *entryState) ended() bool                         { return s.State.Ended() }
func (s *entryState) columns() pgdb.AccessionComputeEntry { return s.row }

func (f *Fold) loadEntries(ctx context.Context, q *pgdb.Queries, ids []string) error {
	rows, err := q.LoadComputeEntries(ctx, ids)
	for _, row := range rows {
		f.entries.load(row.ID, &entryState{EntryOf(row), rowState{}, row}, f.round)
	}
	return err
}

// entry folds an event of an entry.
func (f *Fold) entry(r domain.Recorded) error {
	s := f.entries.byKey[r.Aggregate.ID]
	next, err := compute.Evolve(s.Entry, r)
	if err != nil {
		return err
	}
	s.Entry, s.dirty = next, true
	row := &s.row
	row.ID, row.Version, row.Status, row.CommandID, row.LastModified = string(next.ID), next.Version, string(next.State), next.CommandID, r.Time.Time
	row.Attempt = int64(next.Attempt)
	switch next.State {
	case entry.Pending:
		row.EndedAt = nil
		if r.Type == domain.EventEntryRequested {
			row.Dataset, row.GroupName, row.Priority, row.Key, row.Submitter = next.Work.Dataset, next.Work.Group, int64(next.Work.Priority), next.Work.Key, next.Request.Submitter
			row.RequestedAt = r.Time.Time
			if row.Inputs, err = json.Marshal(next.Request.Inputs); err != nil {
				return err
			}
		}
	case entry.Staging:
		worker := next.Worker
		row.Worker, row.ClaimedAt = &worker, timeOrNull(r.Time)
	case entry.Successful, entry.Failed:
		row.EndedAt = timeOrNull(r.Time)
	}
	row.ExitStatus, row.ResultSha256, row.ResultSize = nil, nil, nil
	if d := next.Result; d != nil {
		exit, size, digest := int64(d.ExitStatus), d.Size, d.SHA256
		row.ExitStatus, row.ResultSha256, row.ResultSize = &exit, &digest, &size
	}
	row.ReasonClass, row.ReasonCode, row.ReasonMessage, row.ReasonWhoActs = nil, nil, nil, nil
	if why := next.Reason; why != nil {
		class, code, acts := string(why.Class), string(why.Code), string(why.WhoActs)
		row.ReasonClass, row.ReasonCode, row.ReasonMessage, row.ReasonWhoActs = &class, &code, &why.Message, &acts
	}
	return nil
}

// EntryOf returns the entry of a row, with what the row has of its reason.
func EntryOf(row pgdb.AccessionComputeEntry) compute.Entry {
	e := compute.Entry{ID: compute.ID(row.ID), Version: row.Version, State: entry.State(row.Status), Attempt: int(row.Attempt), CommandID: row.CommandID,
		Work:      entry.Work{Dataset: row.Dataset, Group: row.GroupName, Priority: entry.Priority(row.Priority), Key: row.Key},
		Requested: domain.At(row.RequestedAt), Modified: domain.At(row.LastModified), Request: entry.Request{Submitter: row.Submitter}}
	_ = json.Unmarshal(row.Inputs, &e.Request.Inputs) // written by this program
	if e.Owned() {
		e.Worker = value(row.Worker)
	}
	if row.ResultSha256 != nil {
		e.Result = &entry.Result{ExitStatus: int(value(row.ExitStatus)), SHA256: *row.ResultSha256, Size: value(row.ResultSize)}
	}
	if row.ReasonCode != nil {
		e.Reason = &domain.Reason{Class: domain.Class(value(row.ReasonClass)), Code: domain.Code(*row.ReasonCode), Message: value(row.ReasonMessage), WhoActs: domain.Acting(value(row.ReasonWhoActs))}
	}
	return e
}
