package query

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/domain/group"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

type (
	// UndecidedGroup is a group of which no deposit was made, with the numbers of its files and
	// of those that are under way, the path of one of these, and the state of its slot.
	UndecidedGroup = pgdb.GroupsUndecidedRow
	// GroupFile is a file of a group and how directories list it.
	GroupFile = pgdb.GroupFilesRow
)

// groupPage is how many groups are read at once.
const groupPage = 500

// UndecidedGroups lists the groups of a dataset of which no deposit was made, by name, after
// one; none are left after fewer than it asks for.
func UndecidedGroups(ctx context.Context, db DB, dataset, after string) (found []UndecidedGroup, more bool, err error) {
	found, err = pgdb.New(db).GroupsUndecided(ctx, pgdb.GroupsUndecidedParams{Dataset: dataset, After: after, Moving: words(group.Moving), MaxRows: groupPage})
	return found, len(found) == groupPage, wrap("find groups of the dataset "+dataset, err)
}

// DirectoriesRead reports whether the directories of some discoveries were read as a whole, and
// the tables have all files that they list, and returns when the last poll of them began.
func DirectoriesRead(ctx context.Context, db DB, discoveries []string) (begun time.Time, whole bool, err error) {
	is, err := pgdb.New(db).DirectoriesRead(ctx, discoveries)
	return is.BegunAt, is.Whole, wrap("read how directories were polled", err)
}

// GroupFiles returns the files of some groups by group and path, and how those of some
// discoveries list them, none of which was polled since a poll that began at a time.
func GroupFiles(ctx context.Context, db DB, dataset string, groups, discoveries []string, begun time.Time) ([]GroupFile, error) {
	found, err := pgdb.New(db).GroupFiles(ctx, pgdb.GroupFilesParams{Dataset: dataset, Groups: groups, Discoveries: discoveries, BegunAt: begun})
	return found, wrap("read the files of groups of the dataset "+dataset, err)
}
