// Package door is where the use cases are: in this process, or at a service over HTTP.
package door

import (
	"context"
	"io"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/cmd/internal/remote"
)

// Door is where the use cases are. One of the two is nil.
type Door struct {
	Here  *app.App
	There *remote.Server
}

// Carry carries out the operation of a name, and returns its answer. in is a pointer to the
// input that the table of operations names.
func Carry[O any](ctx context.Context, d Door, name string, in any) (O, error) {
	if d.There != nil {
		return remote.Ask[O](ctx, d.There, name, in)
	}
	return operation.Carry[O](ctx, d.Here, name, in)
}

// Fetch is Carry for an operation whose answer is no JSON: it is written to w. file is the
// body of the request, nil = none; here carries out the operation in this process.
func Fetch(ctx context.Context, d Door, name string, in any, file io.ReadSeeker, w io.Writer, here func(a *app.App) error) error {
	if d.There != nil {
		return d.There.Fetch(ctx, name, in, file, w)
	}
	return here(d.Here)
}
