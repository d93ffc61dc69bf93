package leases

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
)

// Output names an output of work.
type Output struct {
	Token
	Name string `path:"name" maxLength:"128" example:"spectrum.nc" doc:"Name of the output: letters, digits and ._+=@-, the first a letter, a digit or _"`
}

// Put keeps an output of work, which becomes part of the result when the work is completed. The
// same output again is answered as the first time, also after that; another one of the same
// name takes its place before that, and is refused later.
func Put(ctx context.Context, a *app.App, in *Output, content io.Reader) (out entry.Output, err error) {
	defer app.Explained(&err, "keep the output")
	id, sum, err := parse(in.Token.Token)
	if err != nil {
		return out, err
	}
	if err := entry.CheckOutput(in.Name); err != nil {
		return out, &app.Error{Kind: app.Invalid, Err: err}
	}
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return out, err
	}
	work, err := a.Open.Work(ctx)
	if err != nil {
		return out, err
	}
	outputs := work.Outputs()
	at, _, err := handler.Leased(ctx, id, sum)
	claim := claimOf(at.State, sum)
	if errors.Is(err, eventstore.ErrFenced) {
		claim, err = completed(outputs, at.State, sum, err)
	}
	if err != nil {
		return out, late(ctx, handler, id, err)
	}
	out, err = outputs.Put(claim, in.Name, content, func() error {
		_, _, err := handler.Leased(ctx, id, sum)
		return late(ctx, handler, id, err)
	})
	switch store.CodeOf(err) {
	case store.CodeConflict:
		err = &app.Error{Kind: app.Refused, Err: fmt.Errorf("the work on %s is completed without this output", id), Hint: "put outputs before you complete the work"}
	case store.CodeTooMany:
		err = &app.Error{Kind: app.Invalid, Err: fmt.Errorf("there are %d outputs under this lease, with those that others have replaced: there is no place for more", entry.MaxOutputs), Hint: "put them into one file"}
	}
	return out, err
}

// claimOf returns the claim of a lease, under which outputs are kept.
func claimOf(e compute.Entry, sum string) store.OutputClaim {
	return store.OutputClaim{Entry: e.ID, Version: e.Version, Holder: sum[:32]}
}

// completed returns the claim with which an entry was completed, if it was that of a lease; else
// the error why the lease has ended.
func completed(outputs store.Outputs, e compute.Entry, sum string, ended error) (c store.OutputClaim, err error) {
	if e.State != entry.Successful {
		return c, ended
	}
	e.Version--
	c = claimOf(e, sum)
	there, err := outputs.Closed(c)
	if err == nil && !there {
		err = ended
	}
	return c, err
}

// closed lets a lease get no more outputs, and returns those that it has.
func closed(ctx context.Context, a *app.App, e compute.Entry, t Token) ([]entry.Output, error) {
	_, sum, err := parse(t.Token)
	if err != nil {
		return nil, err
	}
	work, err := a.Open.Work(ctx)
	if err != nil {
		return nil, err
	}
	return work.Outputs().Close(claimOf(e, sum))
}
