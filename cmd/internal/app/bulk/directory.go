package bulk

import (
	"cmp"
	"context"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/app/directories"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// KindDiscover is an open directory that is polled; it is a setting of the kind discovery.
const KindDiscover domain.Kind = "discover"

// directories returns directories behind one, by name.
func (s selection) directories(ctx context.Context, db query.DB, last string, limit int) (items []record.BulkItem, err error) {
	all, err := directories.Discoveries(ctx, s.app, directories.Filter{Dataset: s.Dataset, Datasets: s.datasets, State: s.State, Host: s.Host})
	if err != nil {
		return nil, err
	}
	var later []string
	if !s.requested.IsZero() {
		if later, err = query.SettingsMadeSince(ctx, db, domain.SettingDiscovery, s.requested); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b directories.Discovery) int { return cmp.Compare(a.Name, b.Name) }) // the tables may have another order
	for _, d := range all {
		if d.Name <= last || slices.Contains(later, d.Name) {
			continue
		}
		if items = append(items, record.BulkItem{Target: d.Name, Version: d.Version}); len(items) == limit {
			break
		}
	}
	return items, nil
}
