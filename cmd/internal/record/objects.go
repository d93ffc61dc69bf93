package record

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain/access"
)

// Rows of the inventory; the comments of their columns are in the database.
type (
	// FoundObject is an object.
	FoundObject = pgdb.RecordObject
	// FoundVersion is a stored version of an object.
	FoundVersion = pgdb.RecordObjectVersion
	// FoundFile is a file of a version.
	FoundFile = pgdb.RecordObjectFile
)

// ObjectFilter chooses objects; empty fields choose all, and what is given must all hold.
type ObjectFilter struct {
	Identifier string
	LocalID    string // a depositor's name for it
	Title      string // words, in any order
	Creator    string // words, in any order
	File       string // name of a file of any version, or the end of its path from a slash on
	Collection string
	// A version meets all of these: who deposited it, in which batch, with which profile, and
	// when it was recorded, not before Since and before Until.
	Submitter    string
	Batch        string
	Profile      string
	Since, Until time.Time
	// Sees limits the list to what a caller may see, nil = everything.
	Sees  *access.Filter
	After string // only those behind this identifier
	Limit int
}

// Objects lists objects in the order of their identifiers.
func (r *Records) Objects(ctx context.Context, f ObjectFilter) ([]FoundObject, error) {
	var rows []FoundObject
	for _, part := range f.parts() {
		found, err := r.objects(ctx, part)
		if err != nil {
			return nil, wrap(err, "list objects from", f.After)
		}
		rows = append(rows, found...)
	}
	slices.SortFunc(rows, func(a, b FoundObject) int { return cmp.Compare(a.PrimaryIdentifier, b.PrimaryIdentifier) })
	rows = slices.CompactFunc(rows, func(a, b FoundObject) bool { return a.PrimaryIdentifier == b.PrimaryIdentifier })
	return rows[:min(len(rows), f.Limit)], nil
}

// limitedObjects is a filter and the collections that it is limited to.
type limitedObjects struct {
	ObjectFilter
	limited     bool
	collections []string
}

// parts returns the filters whose results together are what the caller sees: those of
// collections, and those of the caller's own. Each can use an index, where both in one
// condition could not.
func (f ObjectFilter) parts() (parts []limitedObjects) {
	in := func(limited bool, collections []string, submitter string) {
		if f.Collection != "" && limited && !slices.Contains(collections, f.Collection) || submitter != "" && f.Submitter != "" && f.Submitter != submitter {
			return
		}
		if f.Collection != "" {
			limited, collections = true, []string{f.Collection}
		}
		part := limitedObjects{f, limited, append([]string{}, collections...)}
		part.Submitter = cmp.Or(submitter, f.Submitter)
		parts = append(parts, part)
	}
	if f.Sees == nil || f.Sees.All {
		in(false, nil, "")
		return parts
	}
	if len(f.Sees.Collections) > 0 {
		in(true, f.Sees.Collections, "")
	}
	if f.Sees.Submitter != "" {
		in(false, nil, f.Sees.Submitter)
	}
	return parts
}

// byVersion reports whether the filter says something of a version.
func (f ObjectFilter) byVersion() bool {
	return f.Submitter != "" || f.Batch != "" || f.Profile != "" || !f.Since.IsZero() || !f.Until.IsZero()
}

func (r *Records) objects(ctx context.Context, f limitedObjects) ([]FoundObject, error) {
	most := int32(min(f.Limit, 1<<20)) //nolint:gosec // bounded
	switch {
	case f.LocalID != "":
		return r.q.ObjectsWithLocalID(ctx, pgdb.ObjectsWithLocalIDParams{LocalID: f.LocalID, After: f.After, Identifier: f.Identifier, Title: f.Title, Creator: f.Creator,
			Limited: f.limited, Collections: f.collections, File: f.File, ByVersion: f.byVersion(), Submitter: f.Submitter, BatchID: f.Batch, Profile: f.Profile,
			Since: given(f.Since), Until: given(f.Until), MaxRows: most})
	case f.File != "":
		return r.q.ObjectsWithFile(ctx, pgdb.ObjectsWithFileParams{File: f.File, After: f.After, Identifier: f.Identifier, Title: f.Title, Creator: f.Creator,
			Limited: f.limited, Collections: f.collections, ByVersion: f.byVersion(), Submitter: f.Submitter, BatchID: f.Batch, Profile: f.Profile,
			Since: given(f.Since), Until: given(f.Until), MaxRows: most})
	case f.byVersion():
		return r.q.ObjectsByVersion(ctx, pgdb.ObjectsByVersionParams{Submitter: f.Submitter, BatchID: f.Batch, Profile: f.Profile, Since: given(f.Since), Until: given(f.Until), After: f.After, Identifier: f.Identifier, Title: f.Title, Creator: f.Creator,
			Limited: f.limited, Collections: f.collections, MaxRows: most})
	case f.Title != "" || f.Creator != "":
		rows, err := r.q.ObjectsWithWords(ctx, pgdb.ObjectsWithWordsParams{Title: f.Title, Creator: f.Creator, After: f.After, Identifier: f.Identifier,
			Limited: f.limited, Collections: f.collections, MaxRows: most})
		found := make([]FoundObject, len(rows))
		for i, row := range rows {
			found[i] = FoundObject(row)
		}
		return found, err
	}
	return r.q.Objects(ctx, pgdb.ObjectsParams{After: f.After, Identifier: f.Identifier,
		Limited: f.limited, Collections: f.collections, MaxRows: most})
}

// Object returns an object, false = there is none.
func (r *Records) Object(ctx context.Context, primary string) (o FoundObject, found bool, err error) {
	o, err = r.q.Object(ctx, primary)
	return one(o, err, "look for object", primary)
}

// ObjectVersions returns versions of an object, newest first; with a submitter only those
// that it deposited.
func (r *Records) ObjectVersions(ctx context.Context, primary, submitter string, most int) ([]FoundVersion, error) {
	rows, err := r.q.VersionsOfObject(ctx, pgdb.VersionsOfObjectParams{PrimaryIdentifier: primary, Submitter: submitter, MaxRows: int32(min(most, 1<<20))}) //nolint:gosec // bounded
	return rows, wrap(err, "list versions of", primary)
}

// ObjectVersion returns a version of an object, false = it is not there.
func (r *Records) ObjectVersion(ctx context.Context, primary string, version int) (v FoundVersion, found bool, err error) {
	v, err = r.q.ObjectVersion(ctx, pgdb.ObjectVersionParams{PrimaryIdentifier: primary, Version: int64(version)})
	return one(v, err, "look for a version of", primary)
}

// ObjectFiles returns the files of a version in the order of kinds and names, from behind
// one of them.
func (r *Records) ObjectFiles(ctx context.Context, primary string, version int, afterKind, afterName string, most int) ([]FoundFile, error) {
	rows, err := r.q.ObjectFiles(ctx, pgdb.ObjectFilesParams{PrimaryIdentifier: primary, Version: int64(version),
		AfterKind: afterKind, AfterName: afterName, MaxRows: int32(min(most, 1<<20))}) //nolint:gosec // bounded
	return rows, wrap(err, "list files of", primary)
}

// ObjectFile returns the file of a version with a name, false = there is none. Without a
// kind that of the depositor comes before that of the system.
func (r *Records) ObjectFile(ctx context.Context, primary string, version int, kind, name string) (f FoundFile, found bool, err error) {
	rows, err := r.q.ObjectFile(ctx, pgdb.ObjectFileParams{PrimaryIdentifier: primary, Version: int64(version), Kind: kind, Name: name})
	if err != nil || len(rows) == 0 {
		return f, false, wrap(err, "look for a file of", primary)
	}
	return rows[0], true, nil
}

// one returns a row, and whether there is one.
func one[T any](row T, err error, op, about string) (T, bool, error) {
	if errors.Is(err, pgx.ErrNoRows) {
		return row, false, nil
	}
	return row, err == nil, wrap(err, op, about)
}

// IngestRow says what was stored within a span of time.
type IngestRow = pgdb.IngestRow

// Ingest returns what was stored from since on and before until (zero = any time), for each
// hour, day, week, month or year, collection, owner and media type of the depositors' files.
func (r *Records) Ingest(ctx context.Context, by string, since, until time.Time) ([]IngestRow, error) {
	if until.IsZero() {
		until = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	rows, err := r.q.Ingest(ctx, pgdb.IngestParams{By: by, StoredSince: since, StoredUntil: until})
	return rows, wrap(err, "sum up what was stored by", by)
}
