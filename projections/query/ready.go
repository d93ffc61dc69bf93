package query

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/eligible"
	"github.com/accession-ingest/accession/domain/setting"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// Wait is one thing that a downloaded file without a job waits for.
type Wait = eligible.Wait

// WaitingFile is a downloaded file without a job, as the tables have it.
type WaitingFile struct {
	eligible.File
	Version        int64
	Seq            int64 // of its discovery
	Dataset, Group string
}

func waitingOf(r pgdb.FilesWaitingRow) WaitingFile { return inState(r, domain.FileDownloaded) }

func inState(r pgdb.FilesWaitingRow, s domain.FileState) WaitingFile {
	return WaitingFile{eligible.File{Hash: domain.FileHash(r.RawFileHash), Path: r.Path, Size: r.Size, SHA256: r.Sha256, Modified: domain.At(or(r.SourceModified)), State: s},
		r.Version, r.Seq, r.Dataset, r.GroupName}
}

// WaitingFiles lists up to limit downloaded files without a job whose hash comes after the
// one given, in the order of their hashes.
func WaitingFiles(ctx context.Context, db Reader, after domain.FileHash, limit int) ([]WaitingFile, error) {
	rows, err := pgdb.New(db).FilesWaiting(ctx, pgdb.FilesWaitingParams{After: string(after), MaxRows: int32(limit)})
	list := make([]WaitingFile, len(rows))
	for i, r := range rows {
		list[i] = waitingOf(r)
	}
	return list, wrap("list files that wait to become ready", err)
}

// ReadyFiles lists up to limit files without a job that are READY and whose hash comes after
// the one given, in the order of their hashes.
func ReadyFiles(ctx context.Context, db Reader, after domain.FileHash, limit int) ([]WaitingFile, error) {
	rows, err := pgdb.New(db).FilesReady(ctx, pgdb.FilesReadyParams{After: string(after), MaxRows: int32(limit)})
	list := make([]WaitingFile, len(rows))
	for i, r := range rows {
		list[i] = inState(pgdb.FilesWaitingRow(r), domain.FileReady)
	}
	return list, wrap("list files that are ready", err)
}

// WaitingFileByHash returns one of them, or ErrNotFound.
func WaitingFileByHash(ctx context.Context, db Reader, hash domain.FileHash) (WaitingFile, error) {
	row, err := pgdb.New(db).FileWaiting(ctx, string(hash))
	return waitingOf(pgdb.FilesWaitingRow(row)), wrap(string(hash), err)
}

// groupFiles is how many files of a group are looked at, those that are there first.
const groupFiles = 10_000

// Around returns what the rules of its dataset must know of the files around a file, without
// time and slot. What the rules do not ask for is not looked up.
func Around(ctx context.Context, db Reader, r setting.Rules, w WaitingFile) (f eligible.Facts, err error) {
	q := pgdb.New(db)
	f.File, f.GroupName = w.File, w.Group
	if len(r.Companions) > 0 || r.MinFiles > 1 {
		rows, err := q.FilesOfGroup(ctx, pgdb.FilesOfGroupParams{Dataset: w.Dataset, GroupName: w.Group, Hash: string(w.Hash), MaxRows: groupFiles})
		if err != nil {
			return f, wrap("list the files of a group", err)
		}
		for _, row := range rows {
			f.Group = append(f.Group, neighbour(pgdb.FilesBeforeRow(row)))
		}
	}
	if r.Stack > 0 && !w.Modified.IsZero() {
		rows, err := q.FilesBefore(ctx, pgdb.FilesBeforeParams{Dataset: w.Dataset, Modified: w.Modified.Time, Path: w.Path, MaxRows: int32(r.Stack)})
		if err != nil {
			return f, wrap("list the files before a file", err)
		}
		for _, row := range rows {
			f.Before = append(f.Before, neighbour(row))
		}
	}
	if w.Dataset == "" || r.KeepDuplicates {
		return f, nil
	}
	rows, err := q.FilesOfContent(ctx, pgdb.FilesOfContentParams{Dataset: w.Dataset, Sha256: w.SHA256, Seq: w.Seq})
	for _, row := range rows {
		same := neighbour(pgdb.FilesBeforeRow(row))
		f.Same = &same
	}
	return f, wrap("look for the same content", err)
}

func neighbour(r pgdb.FilesBeforeRow) eligible.File {
	return eligible.File{Hash: domain.FileHash(r.RawFileHash), Path: r.Path, Size: r.Size, SHA256: r.Sha256, Modified: domain.At(or(r.SourceModified)), State: domain.FileState(r.Status)}
}

// SlotOfGroup returns the state of the slot of a group, as the tables have it; SlotNone = it
// has none.
func SlotOfGroup(ctx context.Context, db Reader, dataset, group string) (domain.SlotState, error) {
	row, err := SlotByID(ctx, db, slot.NewID(dataset, group))
	if errors.Is(err, ErrNotFound) {
		return domain.SlotNone, nil
	}
	return domain.SlotState(row.Status), err
}

// or returns the zero value for null.
func or[T any](v *T) (value T) {
	if v != nil {
		value = *v
	}
	return value
}
