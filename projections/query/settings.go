package query

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/fold"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// Setting is something that is set, by whom and why.
type Setting struct {
	domain.Setting
	By   string
	When time.Time
	Why  string
}

// SettingsOfKind returns what is set of a kind of settings, by name.
func SettingsOfKind(ctx context.Context, db Reader, kind domain.SettingKind) ([]Setting, error) {
	rows, err := pgdb.New(db).SettingsOfKind(ctx, string(kind))
	return pageOf(rows, err, func(r pgdb.AccessionSetting) (Setting, error) {
		return Setting{Setting: fold.SettingOf(r), By: r.ChangedBy, When: r.ChangedAt.UTC(), Why: r.Why}, nil
	})
}

// SettingsMadeSince returns the names of the settings of a kind that were first set at a time or
// later.
func SettingsMadeSince(ctx context.Context, db Reader, kind domain.SettingKind, since time.Time) ([]string, error) {
	names, err := pgdb.New(db).SettingsMadeSince(ctx, pgdb.SettingsMadeSinceParams{Kind: string(kind), Since: since})
	return names, wrap("list settings of the kind "+string(kind), err)
}
