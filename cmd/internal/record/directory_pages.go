package record

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
)

// Page is what is known of the listing of a directory that is polled with those below it.
type Page struct {
	Discovery string         `json:"discovery"`
	Version   int64          `json:"version"` // of the setting of the discovery
	Path      string         `json:"path"`    // below the directory that is polled, with a slash at its end; "" = that
	URL       string         `json:"url"`
	ETag      string         `json:"etag"`
	Modified  *time.Time     `json:"modified"` // nil = not said
	Files     int64          `json:"files"`
	LeftOut   map[string]int `json:"left_out"` // by rule
	Below     []Below        `json:"below"`
}

// Below is a directory in another one.
type Below struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// Pages returns what is known of the listings of a discovery, by a version of its setting.
func (r *Records) Pages(ctx context.Context, discovery string, version int64) (pages []Page, err error) {
	rows, err := r.q.DirectoryPages(ctx, pgdb.DirectoryPagesParams{Discovery: discovery, Version: version})
	for _, row := range rows {
		p := Page{Discovery: row.Discovery, Version: row.Version, Path: row.Path, URL: row.Url, ETag: row.Etag, Modified: row.Modified, Files: row.Files}
		if err := errors.Join(json.Unmarshal(row.LeftOut, &p.LeftOut), json.Unmarshal(row.Below, &p.Below)); err != nil {
			return nil, wrap(err, "read the listings of", discovery)
		}
		pages = append(pages, p)
	}
	return pages, wrap(err, "read the listings of", discovery)
}

// DropPages forgets what is known of the listings of a discovery, but of those whose paths are
// named.
func (r *Records) DropPages(ctx context.Context, discovery string, but []string) error {
	_, err := change("poll/drop-pages", func() (struct{}, error) {
		return struct{}{}, r.q.DropPages(ctx, pgdb.DropPagesParams{Discovery: discovery, Unchanged: append([]string{}, but...)})
	})
	return wrap(err, "forget the listings of", discovery)
}

// KeepPages keeps what is known of listings of a discovery.
func (r *Records) KeepPages(ctx context.Context, discovery string, pages []Page) error {
	rows, err := json.Marshal(pages)
	if err != nil {
		return wrap(err, "keep the listings of", discovery)
	}
	_, err = change("poll/keep-pages", func() (struct{}, error) { return struct{}{}, r.q.KeepPages(ctx, rows) })
	return wrap(err, "keep the listings of", discovery)
}

// KeepUnchanged notes that the files of some directories of a discovery, named by their paths, are
// still listed as they are, and returns how many those are.
func (r *Records) KeepUnchanged(ctx context.Context, discovery string, begun time.Time, directories []string) (int64, error) {
	n, err := change("listing/keep-unchanged", func() (int64, error) {
		return r.q.KeepUnchanged(ctx, pgdb.KeepUnchangedParams{Discovery: discovery, BegunAt: begun, Unchanged: directories})
	})
	return n, wrap(err, "keep what was listed of", discovery)
}
