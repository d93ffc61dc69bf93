package queries

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/lookup"
)

// SendReport mails the report of a query that has ended once more, as it was first mailed.
// A command that is repeated is one mail. Nothing about the query changes: who asked for it, and why, is in the audit.
func SendReport(ctx context.Context, a *app.App, by people.By, id domain.QueryID, why string) (c app.Changed, err error) {
	defer app.Explained(&err, "send the report of "+string(id))
	q, err := find(ctx, a, id)
	if err != nil {
		return c, err
	}
	mail, err := a.Open.ResendAnswers(ctx, q.state(), a.CommandID())
	if err != nil {
		return c, err
	}
	subject := id.Aggregate().String()
	c = app.Changed{Target: target.Of(id.Aggregate()), Version: q.Version, From: string(q.Status), State: string(q.Status), DryRun: a.DryRun}
	if mail.Sent {
		c.Effects = []string{"it was sent before by this command, as " + mail.Key}
		return c, nil
	}
	if err := a.Meta().Outdated(q.Version); err != nil && !mail.Tried {
		return c, err
	}
	c.Effects = []string{fmt.Sprintf("the report made on %s goes to %d address(es), marked as sent again, as %s", mail.Made.UTC().Format(time.DateTime), mail.To, mail.Key)}
	if !mail.Open.IsZero() {
		c.Effects = append(c.Effects, fmt.Sprintf("a sending begun on %s did not come to its end: if the mail system has taken that mail, two copies with the same Message-ID arrive", mail.Open.UTC().Format(time.DateTime)))
	}
	if a.DryRun {
		return c, nil
	}
	audit, err := people.Of(ctx, a)
	if err != nil {
		return c, err
	}
	failure, err := mail.Send(ctx, nil, func(ctx context.Context, n domain.NoteDelivery) error {
		outcome, detail := people.Done, n.Delivery
		if n.Reason != nil {
			outcome, detail = "failed", n.Delivery+": "+n.Reason.Message
		}
		return audit.Note(ctx, by, "query.send-report", subject, outcome, detail, strings.TrimSpace(why))
	})
	if err == nil && failure != nil {
		err = &app.Error{Kind: app.Failed, Err: failure, Hint: "resolve it and try again"}
	}
	return c, err
}

// state returns the query as the rules know it, without its ticket.
func (q Query) state() lookup.Query {
	is := lookup.Query{ID: q.ID, Version: q.Version, State: q.Status, Request: q.Request, Answer: q.Answer, Received: q.Received, Modified: cmp.Or(q.Ended, q.Grabbed, q.Received)}
	if code, message, ok := strings.Cut(q.Reason, ": "); ok {
		is.Reason = &domain.Reason{Code: domain.Code(code), Message: message}
	}
	return is
}
