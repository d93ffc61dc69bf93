package record

import (
	"context"
	"encoding/json"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/group"
)

// GroupDeposit is a group of a dataset that was found complete.
type GroupDeposit struct {
	Dataset, Group string
	Discovery      string // whose setting says what becomes of the group
	Cause          group.Cause
	Profile        string
	Submitter      string
	Type           domain.SubmissionType
	Manifest       string // what is deposited
	Decided        time.Time
	Batch          domain.BatchID // "" = it is not made yet
	Waits          string         // why not, "" = it was not tried
}

// GroupFile is a file of a group that was found complete.
type GroupFile struct {
	Hash domain.FileHash `json:"raw_file_hash"`
	Path string          `json:"path"`
	Part group.Part      `json:"part"`
}

// GroupWait is a group that waits, and for what.
type GroupWait struct {
	Group string `json:"group"`
	Waits string `json:"waits"`
}

// LeadGroups makes this process the only one that makes deposits of groups, until release is
// called; false when another one is.
func (r *Records) LeadGroups(ctx context.Context) (release func(), leads bool, err error) {
	return r.leads.take(ctx, "accession groups")
}

// KeepGroupWaits keeps what groups of a dataset wait for, unless they were found complete.
func (r *Records) KeepGroupWaits(ctx context.Context, dataset, discovery string, waits []GroupWait) error {
	if len(waits) == 0 {
		return nil
	}
	type row struct {
		Group string `json:"group_name"`
		Waits string `json:"waits"`
	}
	all := make([]row, len(waits))
	for i, w := range waits {
		all[i] = row(w)
	}
	rows, err := json.Marshal(all)
	if err != nil {
		return wrap(err, "keep what groups wait for of", dataset)
	}
	_, err = change("group/wait", func() (struct{}, error) {
		return struct{}{}, r.q.KeepGroupWaits(ctx, pgdb.KeepGroupWaitsParams{Dataset: dataset, Discovery: discovery, Rows: rows})
	})
	return wrap(err, "keep what groups wait for of", dataset)
}

// DecideGroup keeps that a group is complete, with its files, before its batch is made. One that
// was found complete before stays as it is.
func (r *Records) DecideGroup(ctx context.Context, g GroupDeposit, files []GroupFile) error {
	rows, err := json.Marshal(files)
	if err != nil {
		return wrap(err, "keep the files of", g.Group)
	}
	_, err = change("group/decide", func() (int64, error) {
		return r.q.DecideGroup(ctx, pgdb.DecideGroupParams{Dataset: g.Dataset, GroupName: g.Group, Discovery: g.Discovery, Cause: string(g.Cause),
			Profile: g.Profile, Submitter: g.Submitter, Type: string(g.Type), Manifest: g.Manifest, Files: rows})
	})
	return wrap(err, "keep that it is complete of", g.Group)
}

// OpenGroups returns groups that were found complete and are not at their end, the oldest first.
func (r *Records) OpenGroups(ctx context.Context, limit int) ([]GroupDeposit, error) {
	rows, err := r.q.GroupsOpen(ctx, int32(limit)) //nolint:gosec // a small number
	all := make([]GroupDeposit, len(rows))
	for i, g := range rows {
		all[i] = GroupDeposit{Dataset: g.Dataset, Group: g.GroupName, Discovery: g.Discovery, Cause: group.Cause(g.Cause), Profile: g.Profile, Submitter: g.Submitter,
			Type: domain.SubmissionType(g.Type), Manifest: g.Manifest, Decided: orZero(g.DecidedAt), Batch: domain.BatchID(g.BatchID), Waits: g.Waits}
	}
	return all, wrap(err, "find the groups that are", "complete")
}

// GroupFiles returns the files of a group that was found complete, which are in its deposit or
// are its marker.
func (r *Records) GroupFiles(ctx context.Context, dataset, name string) ([]domain.FileHash, error) {
	rows, err := r.q.GroupFilesOf(ctx, pgdb.GroupFilesOfParams{Dataset: dataset, GroupName: name})
	all := make([]domain.FileHash, len(rows))
	for i, h := range rows {
		all[i] = domain.FileHash(h)
	}
	return all, wrap(err, "read the files of", name)
}

// GroupToProcess reports whether a file is in the deposit of its group, or its marker, and the
// group is not at its end: then the file is still to be processed with it.
func (r *Records) GroupToProcess(ctx context.Context, dataset, name string, hash domain.FileHash) (bool, error) {
	there, err := r.q.GroupToProcess(ctx, pgdb.GroupToProcessParams{Dataset: dataset, GroupName: name, RawFileHash: string(hash)})
	return there, wrap(err, "read the deposit of", name)
}

// GroupRefused keeps why the batch of a group cannot be made now.
func (r *Records) GroupRefused(ctx context.Context, dataset, name, why string) error {
	_, err := change("group/refuse", func() (struct{}, error) {
		return struct{}{}, r.q.GroupRefused(ctx, pgdb.GroupRefusedParams{Dataset: dataset, GroupName: name, Waits: why})
	})
	return wrap(err, "keep why it waits of", name)
}

// GroupBatched keeps the batch that a group became.
func (r *Records) GroupBatched(ctx context.Context, dataset, name string, batch domain.BatchID) error {
	_, err := change("group/batch", func() (struct{}, error) {
		return struct{}{}, r.q.GroupBatched(ctx, pgdb.GroupBatchedParams{Dataset: dataset, GroupName: name, BatchID: string(batch)})
	})
	return wrap(err, "keep the batch of", name)
}

// GroupEnded keeps that nothing is left to do for a group.
func (r *Records) GroupEnded(ctx context.Context, dataset, name string) error {
	_, err := change("group/end", func() (struct{}, error) {
		return struct{}{}, r.q.GroupEnded(ctx, pgdb.GroupEndedParams{Dataset: dataset, GroupName: name})
	})
	return wrap(err, "keep the end of", name)
}

// GroupsOf returns how many groups of a discovery were deposited, how many wait, and the first
// of these.
func (r *Records) GroupsOf(ctx context.Context, discovery string, limit int) (deposited, waiting int64, first []GroupWait, err error) {
	n, err := r.q.GroupCounts(ctx, discovery)
	if err != nil {
		return 0, 0, nil, wrap(err, "count the groups of", discovery)
	}
	rows, err := r.q.GroupsWaiting(ctx, pgdb.GroupsWaitingParams{Discovery: discovery, MaxRows: int32(limit)}) //nolint:gosec // a small number
	for _, w := range rows {
		first = append(first, GroupWait{w.GroupName, w.Waits})
	}
	return n.Deposited, n.Waiting, first, wrap(err, "list the groups of", discovery)
}
