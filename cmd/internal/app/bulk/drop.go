package bulk

import (
	"context"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/app/queries"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
)

// KindDrop is a deposit in the drop folder, of which there is no batch yet.
const KindDrop domain.Kind = "drop"

// retry is the command after which a deposit may leave the drop folder.
const retry = "retry"

// sendReport mails the report of a query again. Its mail has the key of the bulk action, so that
// a further try is the same mail.
func sendReport(ctx context.Context, a *app.App, id domain.QueryID, why string) (app.Changed, error) {
	return queries.SendReport(ctx, a, people.By{Name: a.Actor.User(), Via: a.CommandID()}, id, why)
}

// collected finds the profiles of the collection, by which deposits in the drop folder are
// selected.
func (s *selection) collected(ctx context.Context, a *app.App) error {
	if s.Collection == "" {
		return nil
	}
	all, err := a.Profiles(ctx)
	s.profiles = []string{} // none, and not any
	for _, p := range all {
		if p.Collection == s.Collection {
			s.profiles = append(s.profiles, p.Name)
		}
	}
	return err
}

// deposits returns deposits in the drop folder behind one, in the order of their reception. Those
// that cannot be read are left out.
func (s selection) deposits(ctx context.Context, last string, limit int) (items []record.BulkItem, err error) {
	all, err := drops.List(ctx, s.app, s.Submitter, false)
	if err != nil && (len(all) == 0 || ctx.Err() != nil) {
		return nil, err
	}
	for _, d := range all {
		if d.ID <= last || !s.has(d) {
			continue
		}
		if items = append(items, record.BulkItem{Target: d.ID, Version: d.Version}); len(items) == limit {
			break
		}
	}
	return items, nil
}

// has reports whether a deposit in the drop folder is selected.
func (s selection) has(d drops.Shown) bool {
	if s.profiles != nil && !slices.Contains(s.profiles, d.Profile) {
		return false
	}
	return (s.State == "" || d.Status == s.State) && (s.Profile == "" || d.Profile == s.Profile) && !d.Received.Before(s.Since) &&
		(s.until().IsZero() || d.Received.Before(s.until()))
}

// givenTo reports whether an earlier try has given the command to a deposit in the drop folder.
// One that was let in again may have become a batch since.
func (n *running) givenTo(item *record.BulkItem) (bool, error) {
	given, left, err := drops.Given(n.App, item.Target, commandOf(n.row.ID))
	if given = given || left && n.request.Verb == retry; given {
		item.Outcome = record.ItemDone
	}
	return given, err
}
