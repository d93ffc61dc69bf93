// Package queries has the use cases of lists of identifiers that users ask about.
package queries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/accession-ingest/accession/cmd/internal/answer"
	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/report"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/domain/lookup"
)

// Answer begins the answer to a list: every line is looked up while it is written, among what
// who asks may see, nil = everything. The list is closed after its last line.
func Answer(ctx context.Context, a *app.App, l *List, sees *access.Filter) (r app.Report, err error) {
	defer app.Explained(&err, "answer a query")
	tables, err := a.Open.DB(ctx)
	if err != nil {
		return r, err
	}
	records, err := a.Open.Records(ctx)
	if err != nil {
		return r, err
	}
	if _, err := l.file.Seek(0, io.SeekStart); err != nil {
		return r, err
	}
	r = report.Answers(l.Counts, answer.Sources{Tables: tables, Records: records, Sees: sees}.Each(ctx, l.lines()))
	r.Name, r.Title = "query", "What is known of a list of identifiers"
	r.Tables[0].Rows = app.ExplainedRows(r.Tables[0].Rows)
	return r, nil
}

// List is a list of identifiers that was checked.
type List struct {
	lookup.Counts
	name string
	file *os.File
}

// lines yields the lines of the list, and closes it.
func (l *List) lines() iter.Seq2[lookup.Line, error] {
	return func(yield func(lookup.Line, error) bool) {
		defer l.Close()
		lookup.Lines(l.file)(yield)
	}
}

// Named returns the list with the name of its file.
func (l *List) Named(path string) *List {
	l.name = fileName(path)
	return l
}

// Name returns the name of the file of the list, "" = it has none.
func (l *List) Name() string { return l.name }

// File returns the list as it was checked.
func (l *List) File() io.ReadSeeker { return l.file }

// Close closes the list.
func (l *List) Close() { _ = l.file.Close() }

// Read reads and checks a list from a file, or from in if its name is "-". It works on a
// copy: what is answered is what was checked, also if the file is written to meanwhile. The
// caller closes it.
func Read(name string, in io.Reader) (l *List, err error) {
	defer app.Explained(&err, "read the list")
	l = &List{name: fileName(name)}
	if name == "-" {
		l.file, l.Counts, err = spool(in)
	} else {
		l.file, l.Counts, err = copied(name)
	}
	if err == nil {
		return l, nil
	}
	if l.file != nil {
		l.Close()
	}
	if errors.Is(err, lookup.ErrTooLarge) || errors.Is(err, lookup.ErrEmpty) || errors.Is(err, os.ErrNotExist) {
		err = &app.Error{Kind: app.Invalid, What: "read the list", Err: err, Hint: "it has one identifier on each line; `accession query answer --help` says which"}
	}
	return nil, err
}

func copied(name string) (*os.File, lookup.Counts, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, lookup.Counts{}, err
	}
	defer f.Close()
	return spool(f)
}

// spool copies a list to a file without a name, and checks it.
func spool(in io.Reader) (f *os.File, c lookup.Counts, err error) {
	if f, err = os.CreateTemp("", "accession-query-*"); err != nil {
		return nil, c, fmt.Errorf("keep the list: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return f, c, err
	}
	c, err = lookup.Check(io.TeeReader(in, f))
	return f, c, err
}
