package entries

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
)

// claim returns the version of an entry with a result by the claim under which that was made:
// the next event is its completion, and the one after that its purge.
func (e Work) claim() int64 {
	if e.Status == entry.Purged {
		return e.Version - 2
	}
	return e.Version - 1
}

// Output opens an output of an entry, and says what it is. The error is one of kind NotFound if
// the entry has none of this name, or is purged, and of kind Lost if it is missing.
func Output(ctx context.Context, a *app.App, id compute.ID, name string) (f *os.File, out entry.Output, err error) {
	defer app.Explained(&err, "get the output "+name+" of "+string(id))
	e, err := Show(ctx, a, id)
	if err != nil {
		return nil, out, err
	}
	i := -1
	if e.Result != nil {
		i = slices.IndexFunc(e.Result.Outputs, func(o entry.Output) bool { return o.Name == name })
	}
	if i < 0 {
		return nil, out, &app.Error{Kind: app.NotFound, Err: fmt.Errorf("%s has no output %q", id, name), Hint: "`accession compute show` lists its outputs"}
	}
	out = e.Result.Outputs[i]
	if e.Status == entry.Purged {
		return nil, out, &app.Error{Kind: app.NotFound, Err: fmt.Errorf("the outputs of %s were removed when it was purged", id), Hint: "`accession compute show` has their digests"}
	}
	work, err := a.Open.Work(ctx)
	if err != nil {
		return nil, out, err
	}
	f, err = work.Outputs().Open(id, e.claim(), out)
	if store.CodeOf(err) == store.CodeNotFound {
		err = &app.Error{Kind: app.Lost, Err: fmt.Errorf("the output %q of %s is not in the working directory any more", name, id), Hint: "is it the working directory in which the worker's process ran?"}
	}
	return f, out, err
}
