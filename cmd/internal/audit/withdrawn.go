package audit

import (
	"context"
	"fmt"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
)

// withdrawn finds content of an object that was withdrawn, once it is known to be removed. It
// is found with the newest version of the object.
func (c *checker) withdrawn(ctx context.Context, objects *store.Store, v *version, kept record.Kept) error {
	if kept.Withdrawal != record.WithdrawalRemoved || !v.highest {
		return nil
	}
	look := func(at *store.Store, where string) error {
		keys, err := at.Content(ctx, v.Object)
		if err != nil || len(keys) == 0 {
			return err
		}
		c.found(consistency.NewFinding(consistency.WithdrawnStored, v.subject(), where, "nothing", fmt.Sprintf("%d files, the first of them %s", len(keys), keys[0]),
			func(ctx context.Context) error { _, err := at.RemoveContent(ctx, v.Object); return err }))
		return nil
	}
	if err := look(objects, v.Object); err != nil {
		return err
	}
	locations, _ := c.replicated(v, kept)
	for _, location := range locations {
		at, err := c.Stores.At(ctx, location)
		if err == nil {
			err = look(at, location)
		}
		if err != nil { // it does not answer
			c.found(consistency.NewFinding(consistency.ReplicaWrong, v.subject(), location, "nothing of "+v.Object, err.Error(), nil))
		}
	}
	return nil
}
