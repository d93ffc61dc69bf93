package fold

import (
	"context"
	"encoding/json"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// settingState is the state of a setting.
type settingState struct {
	domain.Setting
	rowState
	row pgdb.AccessionSetting
}

func (s *settingState) state() *rowState               { return &s.rowState }
func (s *settingState) ended() bool                    { return false }
func (s *settingState) columns() pgdb.AccessionSetting { return s.row }

func (f *Fold) loadSettings(ctx context.Context, q *pgdb.Queries, ids []string) error {
	rows, err := q.LoadSettings(ctx, ids)
	if err != nil {
		return err
	}
	for _, row := range rows {
		s := SettingOf(row)
		f.settings.load(s.Aggregate().ID, &settingState{s, rowState{}, row}, f.round)
	}
	return nil
}

// setting folds a setting's event.
func (f *Fold) setting(r domain.Recorded) error {
	s := f.settings.byKey[r.Aggregate.ID]
	next, err := domain.EvolveSetting(s.Setting, r)
	if err != nil {
		return err
	}
	s.Setting, s.dirty = next, true
	s.row.Kind, s.row.Name, s.row.Version = string(next.Kind), next.Name, next.Version
	d, ok := r.Data.(*domain.SettingChanged)
	if !ok { // maintenance leaves what is set, by whom and why
		if s.row.Status == "" {
			s.row.Status, s.row.ChangedAt, s.row.ChangedBy = next.Status(), r.Time.Time, string(r.Actor)
		}
		return nil
	}
	s.row.Status, s.row.Why, s.row.ChangedAt, s.row.ChangedBy = d.To, d.Why, r.Time.Time, string(r.Actor)
	s.row.HeldBy, s.row.HeldWhen, s.row.HeldWhy = nil, nil, nil
	if h := next.Hold; h != nil {
		s.row.HeldBy, s.row.HeldWhen, s.row.HeldWhy = &h.By, timeOrNull(h.When), &h.Why
	}
	s.row.DownloadSeconds, s.row.ProcessingSeconds = nil, nil
	if t := next.Timeouts; t != nil {
		s.row.DownloadSeconds, s.row.ProcessingSeconds = orNull(t.DownloadSeconds), orNull(t.ProcessingSeconds)
	}
	if s.row.Value = nil; (next.Kind.OfQueue() || next.Kind.InDirectory()) && next.Value() != nil {
		s.row.Value, err = json.Marshal(next.Value())
	}
	return err
}

// SettingOf returns the setting of a row.
func SettingOf(row pgdb.AccessionSetting) domain.Setting {
	s := domain.Setting{Kind: domain.SettingKind(row.Kind), Name: row.Name, Version: row.Version}
	if row.HeldBy != nil {
		s.Hold = &domain.Hold{By: *row.HeldBy, When: timeOf(row.HeldWhen), Why: value(row.HeldWhy)}
	}
	if row.DownloadSeconds != nil || row.ProcessingSeconds != nil {
		s.Timeouts = &domain.Timeouts{DownloadSeconds: value(row.DownloadSeconds), ProcessingSeconds: value(row.ProcessingSeconds)}
	}
	if row.Value != nil {
		_ = json.Unmarshal(row.Value, &s.SettingValue) // as it was written here
	}
	return s
}
