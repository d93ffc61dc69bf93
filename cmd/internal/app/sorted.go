package app

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// Orders are those that a list can be in.
type Orders = query.Orders

// The orders of lists, by what is sorted by.
var (
	BatchOrders = query.BatchOrders
	JobOrders   = query.JobOrders
	FileOrders  = query.FileOrders
)

// MostSorted is how many rows of a list can be sorted by anything but the order in which they were
// made.
const MostSorted int64 = query.MostCounted

// sortable is a list that can be in an order that is chosen.
type sortable[ID ~string, Filter, Row, Item any] struct {
	kind   domain.Kind
	orders query.Orders
	parse  func(string) (ID, error) // checks the id in a cursor
	count  func(context.Context, query.Reader, Filter) (*int64, error)
	read   func(context.Context, query.Reader, Filter, query.Sorting) ([]query.Sorted[Row], error)
	item   func(Row) Item
	id     func(Row) string
	has    func(context.Context, query.Reader, ID) (Row, error) // a row where a page begins, nil = its id is all that is needed of it
}

var (
	sortableBatches = sortable[domain.BatchID, BatchFilter, query.BatchSummary, BatchSummary]{domain.KindBatch, query.BatchOrders, domain.ParseBatchID,
		query.ListedBatches, query.SortedBatches, batchOf, func(b query.BatchSummary) string { return b.BatchID }, nil}
	sortableJobs = sortable[domain.JobID, JobFilter, JobRow, JobRow]{domain.KindJob, query.JobOrders, domain.ParseJobID,
		query.ListedJobs, query.SortedJobs, func(j JobRow) JobRow { return j }, func(j JobRow) string { return j.ID }, nil}
	sortableFiles = sortable[domain.FileHash, FileFilter, query.FileRow, FileRow]{domain.KindFile, query.FileOrders, domain.ParseFileHash,
		query.ListedFiles, query.SortedFiles, fileOf, func(f query.FileRow) string { return f.RawFileHash }, query.FileByHash}
)

// page returns the page of at most limit rows from a cursor on, in the order that sort names: with
// a hyphen before it from its end. f reads one more row. In any order but that in which they were
// made there are at most [MostSorted], which are counted: it costs no more than that.
func (l sortable[ID, Filter, Row, Item]) page(ctx context.Context, t *reading, f Filter, limit int, sort string, from Cursor) (p Page[Item], err error) {
	by, down := strings.CutPrefix(sort, "-")
	if !l.orders.Has(by) {
		return p, errorf(Invalid, "sort by "+l.orders.Any+", "+strings.Join(l.orders.Few, ", ")+"; -"+l.orders.Any+" is the order from its end", "sort=%q is nothing to sort by", sort)
	}
	last, key, err := l.after(from, sort)
	if err != nil {
		return p, err
	}
	if last != "" && l.has != nil {
		ask(ctx, t, l.has, last)
		t.err = missing(t.err, "begin with the first page again", "there is no %s to begin after", last)
	}
	s := query.Sorting{By: by, Down: down, Last: string(last), LastKey: key}
	if by != l.orders.Any {
		if p.Total = ask(ctx, t, l.count, f); t.err == nil && p.Total == nil {
			return p, errorf(Invalid, "choose fewer, or sort by "+l.orders.Any+", by which any number can be", "more than %d are chosen, which are too many to sort by %s", MostSorted, by)
		}
	}
	rows := ask(ctx, t, func(ctx context.Context, db query.Reader, f Filter) ([]query.Sorted[Row], error) {
		return l.read(ctx, db, f, s)
	}, f)
	rows, more := page(limit, rows)
	p.Items = shown(rows, func(r query.Sorted[Row]) Item { return l.item(r.Row) })
	if more {
		last := rows[limit-1]
		p.Next = Cursor(base64.RawURLEncoding.EncodeToString([]byte(strings.Join([]string{string(l.kind), sort, l.id(last.Row), last.Key}, "/"))))
	}
	return p, nil
}

// after returns the last row of the page before and what it was sorted by, "" = there is none. The
// cursor of another order is none of this.
func (l sortable[ID, Filter, Row, Item]) after(from Cursor, sort string) (last ID, key string, err error) {
	if from == "" {
		return "", "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(string(from))
	parts := strings.SplitN(string(text), "/", 4)
	if err == nil && utf8.Valid(text) && !slices.Contains(text, 0) && len(parts) == 4 && parts[0] == string(l.kind) && parts[1] == sort {
		if last, err := l.parse(parts[2]); err == nil {
			return last, parts[3], nil
		}
	}
	return "", "", errorf(Invalid, "give the cursor of the page before unchanged and in the same order, or none for the first page", "%q is no cursor of a list in this order", string(from))
}
