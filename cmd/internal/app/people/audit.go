package people

import (
	"context"
	"strconv"
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

// Audit lists entries of the audit, newest first, from a cursor on.
func (p *People) Audit(ctx context.Context, f AuditFilter, limit int, from app.Cursor) (page app.Page[Entry], err error) {
	defer app.Explained(&err, "list the audit")
	after, err := app.After(from, "audit", asItIs)
	if err != nil {
		return page, err
	}
	before, _ := strconv.ParseInt(after, 10, 64) // 0 = from the newest on
	rows, err := p.Records.AuditEntries(ctx, record.AuditFilter{Before: before, Since: f.Since, Until: f.Until, Caller: f.Caller, Action: f.Action, Subject: f.Subject, Limit: limit + 1})
	all := make([]Entry, len(rows))
	for i, r := range rows {
		all[i] = Entry{strconv.FormatInt(r.ID, 10), r.At.UTC(), r.Caller, r.Via, r.Address, r.Action, r.Subject, r.Outcome, r.Detail, r.Reason}
	}
	return app.PageOf(limit, all, "audit", func(e Entry) string { return e.ID }), err
}
