package report

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/metadata"
)

// MetadataRecords are those of a metadata deposit.
type MetadataRecords struct {
	domain.MetadataRecords
	Worst []metadata.Record `json:"worst"` // those with a failure first, then those with a warning
	// Problem says why they could not be read, "" = they were.
	Problem string `json:"problem,omitempty"`
}

// Objects opens the object store.
type Objects func(context.Context) (*store.Store, error)

// ReadMetadataRecords reads the worst records of a list, up to most; nil of none.
func ReadMetadataRecords(ctx context.Context, objects Objects, list *domain.MetadataRecords, most int) *MetadataRecords {
	if list == nil {
		return nil
	}
	r := &MetadataRecords{MetadataRecords: *list}
	worst := metadata.Worst{Max: most}
	for record, err := range EachMetadataRecord(ctx, objects, *list) {
		if err != nil {
			r.Problem = err.Error()
			break
		}
		worst.Add(record)
	}
	r.Worst = worst.List()
	return r
}

// EachMetadataRecord reads the records of a list, which must be the one that the listing of the
// batch names.
func EachMetadataRecord(ctx context.Context, objects Objects, list domain.MetadataRecords) iter.Seq2[metadata.Record, error] {
	return Kept[metadata.Record](ctx, objects, list.URL, list.SHA256)
}

// Kept reads values that are kept in the object store, one in each line, and checks that
// they are those of the digest.
func Kept[T any](ctx context.Context, objects Objects, url, sha256 string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := eachKept(ctx, objects, url, sha256, func(v T) bool { return yield(v, nil) }); err != nil {
			var none T
			yield(none, fmt.Errorf("the list in %s: %w", url, err))
		}
	}
}

func eachKept[T any](ctx context.Context, objects Objects, url, want string, each func(T) bool) error {
	key, ok := store.KeyOf(url)
	if !ok {
		return fmt.Errorf("%q names no object", url)
	}
	from, err := objects(ctx)
	if err != nil {
		return err
	}
	data, err := from.Get(ctx, key)
	if err != nil {
		return err
	}
	defer func() { _ = data.Close() }()
	sum := sha256.New()
	lines := json.NewDecoder(io.TeeReader(data, sum))
	for {
		var r T
		if err := lines.Decode(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if !each(r) {
			return nil
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("its SHA-256 is %s and was %s: restore it", got, want)
	}
	return nil
}

// metadataRecords returns the table of the records of a metadata deposit.
func metadataRecords(ctx context.Context, objects Objects, list domain.MetadataRecords) Table {
	return Table{Name: "records", Title: "Records", None: "There is no record.", Total: int64(list.Success + list.Warning + list.Failure),
		Columns: columns("number", "line", "identifier", "outcome", "message", "title"),
		Rows: rowsOf(EachMetadataRecord(ctx, objects, list), func(r metadata.Record) []any {
			return []any{int64(r.Number), int64(r.Line), r.Identifier, string(r.Outcome), strings.Join(r.Messages, "; "), r.Title}
		})}
}
