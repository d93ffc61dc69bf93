package fold

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// batchState is the state of a batch, and further columns: timings, and counters that
// follow from the events of its jobs.
type batchState struct {
	domain.Batch
	rowState
	row pgdb.AccessionBatch
}

func (s *batchState) state() *rowState { return &s.rowState }

func (s *batchState) ended() bool { return s.State.AtRest() }

func newBatch(id domain.BatchID) *batchState {
	return &batchState{Batch: domain.Batch{ID: id}}
}

func (f *Fold) loadBatches(ctx context.Context, q *pgdb.Queries, ids []string) error {
	rows, err := q.LoadBatches(ctx, ids)
	if err != nil {
		return err
	}
	for _, row := range rows {
		b, err := BatchOf(row)
		if err != nil {
			return err
		}
		f.batches.load(row.ID, &batchState{Batch: b, row: row}, f.round)
	}
	return nil
}

// batch folds a batch's event.
func (f *Fold) batch(r domain.Recorded) error {
	s := f.batches.byKey[r.Aggregate.ID]
	from := s.State
	next, err := domain.EvolveBatch(s.Batch, r)
	if err != nil {
		return err
	}
	f.deposit(r, depositedBatch(s.Batch), depositedBatch(next))
	s.Batch, s.dirty = next, true
	if m, _ := domain.MoveOfBatch(r.Data); m.Collection != "" {
		s.row.Collection = m.Collection
	}
	at := timeOrNull(r.Time)
	switch d := r.Data.(type) {
	case *domain.BatchSubmitted:
		s.row.SubmittedAt = at
	case *domain.BatchGrabbed:
		s.row.GrabbedAt = at
	case *domain.BatchListed:
		s.row.ListedAt = at
	case *domain.BatchReport:
		s.row.ReportedAt = at
		s.row.Reports++
		f.report(r, d, s.row.Reports)
	}
	switch r.Type {
	case domain.EventBatchStarted:
		s.row.StartedAt = at
		if s.Listing == nil { // its manifest is invalid: it never has jobs, and the counts add up
			s.row.RowsListed = new(int64)
		}
	case domain.EventBatchReporting, domain.EventBatchUpdateRequested:
		s.row.ReportingAt = at
	}
	if s.State == domain.BatchDeleted && from != domain.BatchDeleted {
		s.row.DeletedAt = at
	}
	return nil
}

// count updates the counters of a batch when one of its jobs changes its state.
func (s *batchState) count(from, to domain.JobState) {
	s.dirty = true
	if from == domain.JobNone {
		s.row.JobsCreated++
	} else {
		*s.counter(from)--
	}
	*s.counter(to)++
}

func (s *batchState) counter(state domain.JobState) *int64 {
	switch state {
	case domain.JobHeld:
		return &s.row.JobsHeld
	case domain.JobFailed:
		return &s.row.JobsFailed
	case domain.JobCompleted:
		return &s.row.JobsCompleted
	case domain.JobDeleted:
		return &s.row.JobsDeleted
	default:
		return &s.row.JobsProcessing
	}
}

// columns returns the row, with all that [BatchOf] needs.
func (s *batchState) columns() pgdb.AccessionBatch {
	row, b := s.row, s.Batch
	row.ID, row.Version, row.Status = string(b.ID), b.Version, string(b.State)
	row.LastModified, row.CommandID = timeOrNull(b.Modified), b.CommandID
	sub := b.Submission
	row.ProfileName, row.Submitter, row.PayloadUrl = sub.ProfileName, sub.Submitter, sub.PayloadURL
	row.ErcWhat, row.ErcWho, row.ErcWhen, row.ErcWhere = sub.ErcWhat, sub.ErcWho, sub.ErcWhen, sub.ErcWhere
	row.Type, row.TypeFound, row.SubmissionMode = string(b.Type()), b.Type() != sub.Type, sub.SubmissionMode
	row.DigestAlgorithm, row.DigestValue, row.FileName, row.Size = sub.DigestAlgorithm, sub.DigestValue, sub.FileName, sub.Size
	row.SubmissionID, row.Queue, row.Account, row.ReceivedAt, row.Slot = sub.SubmissionID, sub.Queue, sub.User, timeOrNull(sub.Received), sub.Slot
	row.PrimaryIdentifier, row.LocalID, row.ProfileVersion, row.KeySha256 = sub.Primary, sub.LocalIDs, sub.ProfileVersion, sub.KeySHA256
	if l := b.Listing; l != nil {
		rows, first := int64(l.Rows), string(l.FirstJID)
		row.RowsListed, row.FirstJid, row.ManifestUrl, row.ManifestSha256 = &rows, &first, &l.ManifestURL, &l.ManifestSHA256
	}
	if t := b.Ticket; t != nil {
		row.TicketQueue, row.TicketUser, row.TicketSlot, row.TicketTurn, row.TicketSynchronous = &t.Queue, &t.User, &t.Slot, &t.Turn, &t.Synchronous
	} else {
		row.TicketQueue, row.TicketUser, row.TicketSlot, row.TicketTurn, row.TicketSynchronous = nil, nil, nil, nil, nil
	}
	c := columnsOf(b.Reason)
	row.ReasonClass, row.ReasonCode, row.ReasonMessage, row.ReasonAttempt, row.ReasonWorker = c.class, c.code, c.message, c.attempt, c.worker
	row.ReasonHost, row.ReasonWhoActs = c.host, c.whoActs
	row.Report = jsonOf(b.Report)
	return row
}

// BatchOf returns the batch of a row; it is the inverse of [batchState.columns].
func BatchOf(row pgdb.AccessionBatch) (domain.Batch, error) {
	b := domain.Batch{
		ID: domain.BatchID(row.ID), Version: row.Version, State: domain.BatchState(row.Status),
		Submission: domain.Submission{
			ProfileName: row.ProfileName, Submitter: row.Submitter, PayloadURL: row.PayloadUrl,
			ErcWhat: row.ErcWhat, ErcWho: row.ErcWho, ErcWhen: row.ErcWhen, ErcWhere: row.ErcWhere,
			Type: domain.SubmissionType(row.Type), SubmissionMode: row.SubmissionMode,
			DigestAlgorithm: row.DigestAlgorithm, DigestValue: row.DigestValue, FileName: row.FileName, Size: row.Size,
			SubmissionID: row.SubmissionID, Queue: row.Queue, User: row.Account, Received: timeOf(row.ReceivedAt), Slot: row.Slot,
			Primary: row.PrimaryIdentifier, LocalIDs: row.LocalID, ProfileVersion: row.ProfileVersion, KeySHA256: row.KeySha256,
		},
		Reason:   reasonColumns{row.ReasonClass, row.ReasonCode, row.ReasonMessage, row.ReasonWorker, row.ReasonHost, row.ReasonWhoActs, row.ReasonAttempt}.reason(),
		Modified: timeOf(row.LastModified), CommandID: row.CommandID,
	}
	if row.RowsListed != nil && row.FirstJid != nil {
		b.Listing = &domain.Listing{Rows: int(*row.RowsListed), FirstJID: domain.JobID(value(row.FirstJid)),
			ManifestURL: value(row.ManifestUrl), ManifestSHA256: value(row.ManifestSha256)}
	}
	if row.TypeFound && b.Listing != nil {
		b.Submission.Type, b.Listing.Type = "", domain.SubmissionType(row.Type)
	}
	if row.TicketQueue != nil {
		b.Ticket = &domain.Ticket{Queue: *row.TicketQueue, User: value(row.TicketUser), Slot: value(row.TicketSlot), Turn: value(row.TicketTurn), Synchronous: value(row.TicketSynchronous)}
	}
	if row.Report != nil {
		b.Report = &domain.Report{}
		if err := json.Unmarshal(row.Report, b.Report); err != nil {
			return b, fmt.Errorf("report of %s: %w", row.ID, err)
		}
	}
	return b, nil
}
