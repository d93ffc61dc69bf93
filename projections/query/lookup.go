package query

import (
	"context"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// KnownBatches returns what is known of batches, by their ids; one that is not there is
// missing.
func KnownBatches(ctx context.Context, db Reader, ids []string) (map[string]lookup.Known, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := pgdb.New(db).BatchesByID(ctx, ids)
	things := make(map[string]lookup.Known, len(rows))
	for _, b := range rows {
		things[b.ID] = lookup.Known{About: lookup.AboutBatch, Batch: b.ID, Status: b.Status, Title: b.ErcWhat, File: b.FileName,
			Submitter: b.Submitter, Collection: b.Collection, Size: b.Size, At: at(b.LastModified), Why: why(b.ReasonCode, b.ReasonMessage)}
	}
	return things, wrap("look up batches", err)
}

// KnownJobs is like KnownBatches, for jobs.
func KnownJobs(ctx context.Context, db Reader, ids []string) (map[string]lookup.Known, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := JobsByID(ctx, db, ids)
	things := make(map[string]lookup.Known, len(rows))
	for _, j := range rows {
		t := lookup.Known{About: lookup.AboutJob, Batch: j.BatchID, Job: j.ID, Primary: j.PrimaryIdentifier, Status: j.Status, Title: j.ErcWhat,
			File: j.FileName, Submitter: j.Submitter, Collection: j.Collection, Size: j.Size, At: at(j.StatusSince), Why: why(j.ReasonCode, j.ReasonMessage)}
		if j.ObjectVersion != nil {
			t.Version = *j.ObjectVersion
		}
		if j.ManifestKey != nil {
			t.Where = *j.ManifestKey
		}
		things[j.ID] = t
	}
	return things, err
}

// JobsOfObjects returns the ids of the newest jobs of each object that may be seen, newest first.
func JobsOfObjects(ctx context.Context, db Reader, sees *access.Filter, primaries []string) ([]string, error) {
	if len(primaries) == 0 {
		return nil, nil
	}
	limited, collections, own := sees.Limits()
	ids, err := pgdb.New(db).JobsOfObjects(ctx, pgdb.JobsOfObjectsParams{Ids: primaries, Limited: limited, Collections: collections, Own: own, Most: lookup.MaxAnswers})
	return ids, wrap("look up the jobs of objects", err)
}

// BatchesOfSubmissions returns the ids of the newest batches of each submission that may be
// seen, newest first.
func BatchesOfSubmissions(ctx context.Context, db Reader, sees *access.Filter, submissions []string) (map[string][]string, error) {
	if len(submissions) == 0 {
		return nil, nil
	}
	limited, collections, own := sees.Limits()
	rows, err := pgdb.New(db).BatchesOfSubmissions(ctx, pgdb.BatchesOfSubmissionsParams{Ids: submissions, Limited: limited, Collections: collections, Own: own, Most: lookup.MaxAnswers})
	of := make(map[string][]string, len(rows))
	for _, row := range rows {
		of[row.SubmissionID] = append(of[row.SubmissionID], row.ID)
	}
	return of, wrap("look up submissions", err)
}

func at(t *time.Time) domain.Time {
	if t == nil {
		return domain.Time{}
	}
	return domain.At(*t)
}

func why(code, message *string) string {
	var parts []string
	for _, s := range []*string{code, message} {
		if s != nil && *s != "" {
			parts = append(parts, *s)
		}
	}
	return strings.Join(parts, ": ")
}
