package slots

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/eligible"
	"github.com/accession-ingest/accession/domain/setting"
	"github.com/accession-ingest/accession/projections/query"
)

// Waits returns what a file waits for, as the tables have it; none for a file that does not
// wait, or is of a job.
func Waits(ctx context.Context, a *app.App, hash domain.FileHash) (waits []query.Wait, err error) {
	defer app.Explained(&err, "find what "+string(hash)+" waits for")
	db, err := a.Open.DB(ctx)
	if err != nil {
		return nil, err
	}
	f, err := query.WaitingFileByHash(ctx, db, hash)
	if errors.Is(err, query.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rules, err := rulesOf(ctx, db, f.Dataset)
	if err != nil {
		return nil, err
	}
	facts, err := query.Around(ctx, db, rules, f)
	if err != nil {
		return nil, err
	}
	if f.Dataset != "" && f.Group != "" {
		if facts.Slot, err = query.SlotOfGroup(ctx, db, f.Dataset, f.Group); err != nil {
			return nil, err
		}
	}
	facts.Now = domain.At(time.Now())
	return eligible.Decide(rules, facts).Waits, nil
}

func rulesOf(ctx context.Context, db query.DB, dataset string) (r setting.Rules, err error) {
	if dataset == "" {
		return r, nil
	}
	all, err := query.SettingsOfKind(ctx, db, domain.SettingDataset)
	if i := slices.IndexFunc(all, func(s query.Setting) bool { return s.Name == dataset }); i >= 0 && all[i].Dataset != nil && all[i].Dataset.Rules != nil {
		r = *all[i].Dataset.Rules
	}
	return r, err
}
