package report

import (
	"slices"
	"strings"

	"github.com/accession-ingest/accession/projections/query"
)

// Kind describes one kind of report.
type Kind struct {
	ID    string `json:"id"` // its name
	Name  string `json:"name"`
	About string `json:"about"`
	// Batch says that it is about one batch, which must be named.
	Batch bool `json:"needs_batch"`
	// Dataset says that it may be about a dataset in place of a batch.
	Dataset bool `json:"takes_dataset"`
	// Plot says that it can be drawn.
	Plot bool `json:"plot"`

	ByBatch bool `json:"-"` // that it can be narrowed to a batch
	ByTime  bool `json:"-"` // or to a time
	BySpan  bool `json:"-"` // that it has rows for spans of time, and only of now
}

// Spans are what a report may have a row for each of.
var Spans = []string{"hour", "day", "week", "month", "year"}

// Needs names the flags of which the report needs one, "" = none.
func (k Kind) Needs() string {
	switch {
	case k.Dataset:
		return "--batch or --dataset"
	case k.Batch:
		return "--batch"
	}
	return ""
}

// Fault returns which option does not apply to the report; by is one of Spans, and now says
// that it is not about a moment.
func (k Kind) Fault(r query.Range, by string, now bool) (fault, hint string) {
	switch timed := !r.Since.IsZero() || !r.Until.IsZero(); {
	case r.Dataset != "" && !k.Dataset:
		return "it cannot be narrowed to a dataset", "leave out --dataset"
	case r.Dataset != "" && r.Batch != "":
		return "it is about a batch or a dataset", "give --batch or --dataset, not both"
	case r.Dataset != "" && !now:
		return "it is read from the listings, which are those of now", "leave out --at"
	case k.Batch && r.Batch == "" && r.Dataset == "":
		return "it is about one batch", "name it with " + k.Needs()
	case !k.ByBatch && r.Batch != "":
		return "it cannot be narrowed to a batch", "leave out --batch"
	case !k.ByTime && timed:
		return "it is about one moment", "give --at in place of --since and --until"
	case by != "" && !k.BySpan:
		return "it has no rows for spans of time", "leave out --by"
	case by != "" && !slices.Contains(Spans, by):
		return "--by is none of " + strings.Join(Spans, ", "), "leave out --by for days"
	case k.BySpan && !now:
		return "it is read from the inventory, which is that of now", "leave out --at"
	case timed && !now:
		return "a moment and an interval exclude each other", "give --at, or --since and --until"
	case timed && !r.Since.IsZero() && !r.Until.IsZero() && !r.Since.Before(r.Until):
		return "between --since and --until there is nothing", "give an earlier --since"
	}
	return "", ""
}
