package poll

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/internal/crash"
)

// slots makes the slots of the groups of some files, if their dataset has them made from the
// names of its groups. Slots that exist stay as they are. It comes after the files are known
// and before they are kept as listed: after a death in between the next poll makes the slots.
func (p *Poller) slots(ctx context.Context, d directory, found []domain.DiscoverFile) error {
	if d.dataset.Rules == nil || d.dataset.Rules.Slots == nil {
		return nil
	}
	var asks []files.SlotRequest
	seen, none, why := map[string]bool{}, 0, error(nil)
	for _, f := range found {
		add, err := slot.FromName(d.Dataset, f.Spec.Group, *d.dataset.Rules.Slots)
		switch {
		case err != nil:
			none, why = none+1, err
		case !seen[f.Spec.Group]:
			seen[f.Spec.Group] = true
			asks = append(asks, files.SlotRequest{ID: slot.NewID(d.Dataset, f.Spec.Group), Command: add})
		}
	}
	if none > 0 {
		p.Log.Warn("files were found whose groups have no slot by their names: they wait for an operator", "discovery", d.name, "dataset", d.Dataset, "files", none, "one", why)
	}
	if len(asks) == 0 {
		return nil
	}
	return crash.Around("poll/slots/make", func() error {
		made, err := p.Files.Slots().All(ctx, asks, eventstore.Meta{Actor: actor, TraceParent: eventstore.NewTrace().Parent()})
		if err != nil {
			return err
		}
		for _, m := range made {
			if refused, ok := errors.AsType[*domain.Refused](m.Err); m.Err != nil && (!ok || refused.Code != slot.CodeExists) {
				err = errors.Join(err, m.Err)
			}
		}
		return err
	})
}
