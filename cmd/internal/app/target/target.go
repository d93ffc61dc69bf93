// Package target says what a command is about.
package target

import "github.com/accession-ingest/accession/domain"

// Target is what a command is about: its id, as the next command takes it, and the subject of
// its events.
type Target struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
}

// Of returns an aggregate as a target. The id of a setting is its name.
func Of(a domain.Aggregate) Target {
	t := Target{ID: a.ID, Subject: a.String()}
	if a.Kind == domain.KindSetting {
		_, t.ID = domain.SettingOf(a)
	}
	return t
}
