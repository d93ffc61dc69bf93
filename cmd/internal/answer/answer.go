// Package answer answers lists of identifiers from the tables and the records.
package answer

import (
	"context"
	"iter"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/mint"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/projections/query"
)

// Sources is where the answers are.
type Sources struct {
	Tables  query.Reader
	Records *record.Records
	// Sees limits what is found to what who asks may see, nil = everything.
	Sees *access.Filter
}

// together is how many lines are looked up at once.
const together = 200

// Each yields the answers to lines, in their order. It reads as many lines at a time as are
// looked up together, so that memory does not depend on how many there are.
func (s Sources) Each(ctx context.Context, lines iter.Seq2[lookup.Line, error]) iter.Seq2[lookup.Answer, error] {
	return func(yield func(lookup.Answer, error) bool) {
		page := make([]lookup.Line, 0, together)
		flush := func() bool {
			found, err := s.find(ctx, page)
			if err != nil {
				yield(lookup.Answer{}, err)
				return false
			}
			for _, a := range lookup.Answers(page, found) {
				if !yield(a, nil) {
					return false
				}
			}
			page = page[:0]
			return true
		}
		for line, err := range lines {
			if err != nil {
				yield(lookup.Answer{}, err)
				return
			}
			if page = append(page, line); len(page) == together && !flush() {
				return
			}
		}
		flush()
	}
}

// find looks up lines.
func (s Sources) find(ctx context.Context, lines []lookup.Line) ([]lookup.Match, error) {
	f := finding{Sources: s, ctx: ctx}
	f.objects(f.primaries(lines))
	f.ids(lines)
	f.digests(lookup.Wanted(lines, lookup.Digest))
	f.submissions(lookup.Wanted(lines, lookup.Submission))
	return slices.DeleteFunc(f.found, func(m lookup.Match) bool { return !s.sees(m.Known) }), f.err
}

// sees reports whether who asks may see a thing.
func (s Sources) sees(t lookup.Known) bool {
	return s.Sees == nil || s.Sees.Selects(t.Collection, t.Submitter)
}

// finding is a look-up of some lines, until the first error.
type finding struct {
	Sources
	ctx   context.Context //nolint:containedctx // of one look-up
	found []lookup.Match
	err   error
}

// read reads what is found for values, unless something failed before.
func read[Q, A any](f *finding, from func(context.Context, Q) (A, error), values Q) (a A) {
	if f.err == nil {
		a, f.err = from(f.ctx, values)
	}
	return a
}

// limited returns a look-up of what may be seen.
func limited[Q, A any](f *finding, from func(context.Context, *access.Filter, Q) (A, error)) func(context.Context, Q) (A, error) {
	return func(ctx context.Context, values Q) (A, error) { return from(ctx, f.Sees, values) }
}

// seen returns a query of the tables for what may be seen.
func seen[Q, A any](f *finding, from func(context.Context, query.Reader, *access.Filter, Q) (A, error)) func(context.Context, Q) (A, error) {
	return func(ctx context.Context, values Q) (A, error) { return from(ctx, f.Tables, f.Sees, values) }
}

// table returns a query of the tables.
func table[Q, A any](f *finding, from func(context.Context, query.Reader, Q) (A, error)) func(context.Context, Q) (A, error) {
	return func(ctx context.Context, values Q) (A, error) { return from(ctx, f.Tables, values) }
}

func (f *finding) add(k lookup.Kind, value string, things ...lookup.Known) {
	for _, t := range things {
		f.found = append(f.found, lookup.Match{Kind: k, Value: value, Known: t})
	}
}

// name is a value that stands for an object.
type name struct {
	kind    lookup.Kind
	value   string
	primary string
}

// primaries returns for which objects lines stand: an identifier in any of its spellings, and
// local ids.
func (f *finding) primaries(lines []lookup.Line) (names []name) {
	for _, value := range lookup.Wanted(lines, lookup.Primary) {
		names = append(names, name{lookup.Primary, value, value})
		if id, err := mint.Parse(value); err == nil && id.String() != value {
			names = append(names, name{lookup.Primary, value, id.String()})
		}
	}
	locals := lookup.Wanted(lines, lookup.Local)
	of := read(f, f.Records.ObjectsOfLocalIDs, locals)
	for _, value := range locals {
		for _, primary := range of[value] {
			names = append(names, name{lookup.Local, value, primary})
		}
	}
	return names
}

// objects looks up the stored versions and the jobs of objects.
func (f *finding) objects(names []name) {
	var primaries []string
	for _, n := range names {
		primaries = append(primaries, n.primary)
	}
	slices.Sort(primaries)
	primaries = slices.Compact(primaries)
	stored := read(f, limited(f, f.Records.StoredVersions), primaries)
	ids := read(f, seen(f, query.JobsOfObjects), primaries)
	things := read(f, table(f, query.KnownJobs), ids)
	jobs := map[string][]lookup.Known{}
	for _, id := range ids {
		t := things[id]
		jobs[t.Primary] = append(jobs[t.Primary], t)
	}
	for _, n := range names {
		f.add(n.kind, n.value, stored[n.primary]...)
		f.add(n.kind, n.value, jobs[n.primary]...)
	}
}

// ids looks up batches and jobs by their ids.
func (f *finding) ids(lines []lookup.Line) {
	for value, t := range read(f, table(f, query.KnownBatches), lookup.Wanted(lines, lookup.Batch)) {
		f.add(lookup.Batch, value, t)
	}
	for value, t := range read(f, table(f, query.KnownJobs), lookup.Wanted(lines, lookup.Job)) {
		f.add(lookup.Job, value, t)
	}
}

// digests looks up stored files by their digests, and deposits by those of their payloads.
func (f *finding) digests(values []string) {
	stored := read(f, limited(f, f.Records.StoredFiles), values)
	for _, value := range values {
		f.add(lookup.Digest, value, stored[value]...)
	}
	f.batches(lookup.Digest, values, read(f, limited(f, f.Records.BatchesOfDigests), values))
}

func (f *finding) submissions(values []string) {
	f.batches(lookup.Submission, values, read(f, seen(f, query.BatchesOfSubmissions), values))
}

// batches adds the batches for which values stand.
func (f *finding) batches(k lookup.Kind, values []string, of map[string][]string) {
	var ids []string
	for _, list := range of {
		ids = append(ids, list...)
	}
	things := read(f, table(f, query.KnownBatches), ids)
	for _, value := range values {
		n := 0
		for _, id := range of[value] {
			if t, there := things[id]; there && f.sees(t) && n < lookup.MaxAnswers {
				n++
				f.add(k, value, t)
			}
		}
	}
}
