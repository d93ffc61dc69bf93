package app

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// Page is a part of a list.
type Page[T any] struct {
	Items []T `json:"items"`
	// Total counts all that the filter selects, on this page or not; nil = they are
	// too many to be counted.
	Total *int64 `json:"total,omitempty"`
	// Next is the cursor of the page that follows, "" = this is the last one.
	Next Cursor `json:"next,omitempty"`
}

// Cursor says where a page of a list begins; "" is the first one. What is in it is of
// no concern to callers.
type Cursor string

// cursor returns the cursor of the page behind the last item of another.
func cursor(kind domain.Kind, last string) Cursor {
	return Cursor(base64.RawURLEncoding.EncodeToString([]byte(string(kind) + "/" + last)))
}

// After returns the last item of the page before, "" = there is none.
func After[ID ~string](c Cursor, kind domain.Kind, parse func(string) (ID, error)) (ID, error) {
	if c == "" {
		return "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(string(c))
	if err == nil {
		if last, ok := strings.CutPrefix(string(text), string(kind)+"/"); ok {
			if id, err := parse(last); err == nil {
				return id, nil
			}
		}
	}
	return "", errorf(Invalid, "give the cursor of the page before unchanged, or none for the first page", "%q is no cursor of a list of this kind", string(c))
}

// PageOf cuts rows, of which one more than the limit was read, to a page.
func PageOf[T any](limit int, rows []T, kind domain.Kind, id func(T) string) (p Page[T]) {
	items, more := page(limit, rows)
	if p.Items = items; more {
		p.Next = cursor(kind, id(items[limit-1]))
	}
	return p
}

// shown returns rows of the tables as they are shown.
func shown[Row, Shown any](rows []Row, as func(Row) Shown) []Shown {
	all := make([]Shown, len(rows))
	for i, row := range rows {
		all[i] = as(row)
	}
	return all
}

// knownIn refuses a list that is empty because what it should be of does not exist.
func (a *App) knownIn(ctx context.Context, t *reading, batch domain.BatchID, job domain.JobID) error {
	if batch != "" {
		_, err := query.Summary(ctx, t.db, batch)
		if errors.Is(err, query.ErrNotFound) {
			err = a.accepted(ctx, batch) // it may be newer than the tables
		}
		if err != nil {
			return missing(err, "`accession batch ls` lists them", "there is no batch %s", batch)
		}
	}
	if job != "" {
		_, err := query.JobByID(ctx, t.db, job)
		return missing(err, "`accession job ls` lists them; `accession status` shows how far the tables are behind", "there is no job %s in the tables", job)
	}
	return nil
}
