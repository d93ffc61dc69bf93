// Package door is where the use cases are: in this process, or at a service over HTTP.
package door

import (
	"context"
	"fmt"
	"io"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/cmd/internal/remote"
)

// Door is where the use cases are. One of the first two is nil.
type Door struct {
	Here  *app.App
	There *remote.Server
	// Unnoted learns why the audit has no entry of what was done here.
	Unnoted func(error)
}

// Carry carries out the operation of a name, and returns its answer. in is a pointer to the
// input that the table of operations names.
func Carry[O any](ctx context.Context, d Door, name string, in any) (O, error) {
	if d.There != nil {
		return remote.Ask[O](ctx, d.There, name, in)
	}
	return operation.Carry[O](ctx, d.Here, name, in, d.Unnoted)
}

// Note audits what became of an operation that was carried out here with more than its row has.
func (d Door) Note(ctx context.Context, name string, e operation.Ending) {
	if err := operation.Note(ctx, d.Here, operation.Named(name), e); err != nil {
		d.Unnoted(err)
	}
}

// Unnoted returns what says that the audit has no entry of what was done.
func Unnoted(say io.Writer) func(error) {
	return func(err error) {
		_, _ = fmt.Fprintf(say, "the audit has no entry of this: %v\n", err) // it is done all the same
	}
}

// Noted audits what became of a command here that no row of the table of operations has, and
// returns its error. Where it cannot be audited, that is said.
func Noted(ctx context.Context, a *app.App, say io.Writer, name, on string, dry bool, err error) error {
	if failed := operation.Note(ctx, a, &operation.Operation{Name: name, Write: true}, operation.Ending{On: on, DryRun: dry, Err: err}); failed != nil {
		Unnoted(say)(failed)
	}
	return err
}

// Fetch is Carry for an operation whose answer is no JSON: it is written to w. file is the
// body of the request, nil = none; here carries out the operation in this process.
func Fetch(ctx context.Context, d Door, name string, in any, file io.ReadSeeker, w io.Writer, here func(a *app.App) error) error {
	if d.There != nil {
		return d.There.Fetch(ctx, name, in, file, w)
	}
	return here(d.Here)
}
