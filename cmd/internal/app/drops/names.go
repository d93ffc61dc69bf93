package drops

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// KeepNames keeps the names under which the depositor of a form asks what became of what it
// sent; as is its id in the drop folder, or that of its batch or query. Names of what was
// never accepted say nothing.
func KeepNames(ctx context.Context, a *app.App, submitter, as string, names ...string) (err error) {
	defer app.Explained(&err, "deposit")
	records, err := a.Open.Records(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := records.KeepFormDeposit(ctx, submitter, name, as); err != nil {
			return err
		}
	}
	return nil
}

// Named returns what has a name by [KeepNames], the newest first.
func Named(ctx context.Context, a *app.App, submitter, name string) (ids []string, err error) {
	defer app.Explained(&err, "find "+name)
	records, err := a.Open.Records(ctx)
	if err != nil {
		return nil, err
	}
	return records.FormDeposits(ctx, submitter, name)
}
