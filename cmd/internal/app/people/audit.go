package people

import (
	"context"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/record"
)

// Entry is an entry of the audit.
type Entry struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Caller  string    `json:"caller"`
	Via     string    `json:"via"`
	Address string    `json:"address,omitempty"`
	Action  string    `json:"action"`
	Subject string    `json:"subject,omitempty"`
	Outcome string    `json:"outcome"`
	Detail  string    `json:"detail,omitempty"`
	Reason  string    `json:"reason,omitempty"`
}

// Note audits what a caller did, or was refused, that changed no people.
func (p *People) Note(ctx context.Context, by By, action, subject, outcome, detail, why string) error {
	return p.change(ctx, by, action, subject, why, func(tx *record.PeopleTx) error {
		tx.Entry.Outcome, tx.Entry.Detail = outcome, detail
		return nil
	})
}

// AuditFilter chooses entries of the audit; empty fields choose all.
type AuditFilter struct {
	Since   time.Time // from then on
	Until   time.Time // before then
	Caller  string
	Action  string // such as user.grant, or user for all of a kind
	Subject string // such as user/jo or job/jid0000000001
}

// entryColumns are the columns of the report of the audit, as the fields of an [Entry] in
// JSON.
var entryColumns = []string{"id", "at", "caller", "via", "address", "action", "subject", "outcome", "detail", "reason"}

// Report begins the report of the audit: its entries, newest first, are read while they are
// written.
func (p *People) Report(ctx context.Context, f AuditFilter) app.Report {
	t := app.Table{Name: "audit", Title: "What was done and refused", None: "Nothing was audited.", Rows: app.ExplainedRows(p.entries(ctx, f))}
	for _, name := range entryColumns {
		t.Columns = append(t.Columns, app.Column{Name: name, Label: strings.ReplaceAll(name, "_", " ")})
	}
	r := app.Report{Name: "audit", Title: "Who did what, and what was refused", Tables: []app.Table{t}}
	for _, c := range []struct {
		name string
		at   time.Time
	}{{"since", f.Since}, {"until", f.Until}} {
		if !c.at.IsZero() {
			r.Facts = append(r.Facts, app.Fact{Name: c.name, Label: c.name, Value: c.at.UTC()})
		}
	}
	return r
}

// entriesPage is how many entries a report reads at once.
const entriesPage = 1000

// entries yields the rows of the report.
func (p *People) entries(ctx context.Context, f AuditFilter) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for before := int64(0); ; {
			rows, err := p.Records.AuditEntries(ctx, f.from(before, entriesPage))
			if err != nil {
				yield(nil, err)
				return
			}
			for _, r := range rows {
				e := entryOf(r)
				if !yield([]any{e.ID, e.At, e.Caller, e.Via, e.Address, e.Action, e.Subject, e.Outcome, e.Detail, e.Reason}, nil) {
					return
				}
			}
			if len(rows) < entriesPage {
				return
			}
			before = rows[len(rows)-1].ID
		}
	}
}

// from returns the filter for a page: entries before one, 0 = from the newest on.
func (f AuditFilter) from(before int64, limit int) record.AuditFilter {
	return record.AuditFilter{Before: before, Since: f.Since, Until: f.Until, Caller: f.Caller, Action: f.Action, Subject: f.Subject, Limit: limit}
}

func entryOf(r record.AuditEntry) Entry {
	return Entry{strconv.FormatInt(r.ID, 10), r.At.UTC(), r.Caller, r.Via, r.Address, r.Action, r.Subject, r.Outcome, r.Detail, r.Reason}
}

// Audit lists entries of the audit, newest first, from a cursor on.
func (p *People) Audit(ctx context.Context, f AuditFilter, limit int, from app.Cursor) (page app.Page[Entry], err error) {
	defer app.Explained(&err, "list the audit")
	after, err := app.After(from, "audit", asItIs)
	if err != nil {
		return page, err
	}
	before, _ := strconv.ParseInt(after, 10, 64) // 0 = from the newest on
	rows, err := p.Records.AuditEntries(ctx, f.from(before, limit+1))
	all := make([]Entry, len(rows))
	for i, r := range rows {
		all[i] = entryOf(r)
	}
	return app.PageOf(limit, all, "audit", func(e Entry) string { return e.ID }), err
}
