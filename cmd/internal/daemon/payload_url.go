package daemon

import (
	"context"
	"fmt"

	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
)

// hideQueries keeps the whole URLs of the rows that become jobs now, and leaves
// their public forms in the rows: a job's events are for everybody to read.
func (s *steps) hideQueries(ctx context.Context, b domain.Batch, rows []manifest.Row) error {
	if b.NextRow >= len(rows) {
		return nil
	}
	rows = rows[b.NextRow:]
	var at []int
	var full []string
	for i, r := range rows {
		if record.Revealing(r.FileURL) {
			at, full = append(at, i), append(full, r.FileURL)
		}
	}
	if len(full) == 0 {
		return nil
	}
	public, err := s.cfg.Records.KeepURLs(ctx, full)
	if err != nil {
		return fmt.Errorf("keep the URLs of the rows: %w", err)
	}
	for i, url := range public {
		rows[at[i]].FileURL = url
	}
	return nil
}

// fullURL gives the URL to fetch from. It is never written into an event or a log.
func (s *steps) fullURL(ctx context.Context, public string) (string, error) {
	if !record.Redacted(public) {
		return public, nil
	}
	full, err := s.cfg.Records.FullURL(ctx, public)
	if _, code, temporary, known := verdict(err); known && !temporary {
		return "", systemProblem(code, "%v", err)
	}
	return full, err
}
