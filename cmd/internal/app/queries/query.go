package queries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/intake"
	"github.com/accession-ingest/accession/cmd/internal/app/report"
	"github.com/accession-ingest/accession/cmd/internal/app/showing"
	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/domain/text"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// Query is a query as it stands.
type Query struct {
	ID        domain.QueryID `json:"id"`
	Status    asked.State    `json:"status"`
	Version   int64          `json:"version"`
	Request   asked.Request  `json:"request"`
	Answer    *asked.Answer  `json:"answer,omitempty"`
	Processor string         `json:"processor,omitempty"`
	Reason    string         `json:"reason,omitempty"`
	WhoActs   domain.Acting  `json:"who_acts,omitempty"` // on the reason of a query that failed
	Received  domain.Time    `json:"received_at,omitzero"`
	Grabbed   domain.Time    `json:"grabbed_at,omitzero"`
	Ended     domain.Time    `json:"ended_at,omitzero"`
	Mail      *Mail          `json:"mail,omitempty"` // with the report; nil = none was asked for, or the query is one of a list
}

// Over reports whether the query has ended.
func (q Query) Over() bool { return q.Status.Ended() }

// Submit keeps a list in the object store and makes a query of it, which waits for its turn.
// The list and the addresses of its mail are kept before the query is made: one of which
// nothing is known after a crash has at most left these. Under the same idempotency key of the
// submitter one query is made.
func Submit(ctx context.Context, a *app.App, l *List, w Wishes) (q Query, err error) {
	defer app.Explained(&err, "submit a query")
	if err := w.check(a.Open.MailFrom); err != nil {
		return q, err
	}
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return q, err
	}
	once, err := newOnce(ctx, a, l, w)
	if err != nil {
		return q, err
	}
	live, err := a.Open.Live(ctx)
	if err == nil && !once.requested() {
		err = live.Room(ctx)
	}
	if err == nil {
		err = intake.Admit(ctx, a.Open.DepositQueues, fair.QueueQuery, w.Submitter, once.requested())
	}
	if err != nil {
		return q, err
	}
	objects, err := a.Open.Uploads(ctx)
	if err != nil {
		return q, err
	}
	id, err := once.reserve(ctx, handler)
	if err != nil {
		return q, err
	}
	if q, found, err := once.made(ctx, handler); found || err != nil {
		return q, err
	}
	if _, err := l.file.Seek(0, io.SeekStart); err != nil {
		return q, err
	}
	kept, err := objects.Put(ctx, "queries/"+string(id)+"/list.txt", l.file)
	if err != nil {
		return q, err
	}
	if err := w.keep(ctx, a, id); err != nil {
		return q, err
	}
	request := asked.Request{Submitter: w.Submitter, FileName: l.name, ListURL: store.URL(kept.Key), ListSHA256: kept.SHA256, Size: kept.Size,
		Lines: l.Lines, Wrong: l.Wrong, Format: w.Format, Recipients: len(w.Mail), Within: lookup.WithinOf(w.Sees)}
	res, err := handler.ReceiveQuery(ctx, id, lookup.Receive{Request: request, KeySHA256: once.keySHA256()}, a.Meta())
	if errors.Is(err, eventstore.ErrUnknown) {
		err = fmt.Errorf("the list may have become %s: look for it before you submit again: %w", id, err)
	}
	if err != nil {
		return once.overtaken(ctx, handler, err)
	}
	return of(res.State), nil
}

func of(q lookup.Query) Query {
	shown := Query{ID: q.ID, Status: q.State, Version: q.Version, Request: q.Request, Answer: q.Answer}
	if q.State.Ended() {
		shown.Ended = q.Modified
	}
	if q.Reason != nil {
		shown.Reason, shown.WhoActs = string(q.Reason.Code)+": "+q.Reason.Message, q.Reason.WhoActs
	}
	return shown
}

func ofRow(r query.QueryRow) Query {
	q := Query{ID: domain.QueryID(r.ID), Status: asked.State(r.Status), Version: r.Version,
		Request:   query.RequestOf(r),
		Processor: or(r.Processor), Received: domain.At(r.ReceivedAt), Grabbed: at(r.GrabbedAt), Ended: at(r.EndedAt)}
	if r.Found != nil {
		q.Answer = &asked.Answer{Found: int(*r.Found), NotFound: int(or(r.NotFound)), Wrong: int(r.WrongLines), URL: or(r.AnswerUrl), SHA256: or(r.AnswerSha256)}
	}
	if r.ReasonCode != nil {
		q.Reason = *r.ReasonCode + ": " + or(r.ReasonMessage)
		if q.Status == asked.Failed {
			q.WhoActs = domain.Class(or(r.ReasonClass)).WhoActs()
		}
	}
	return q
}

func or[T any](v *T) (value T) {
	if v != nil {
		value = *v
	}
	return value
}

func at(t *time.Time) domain.Time { return domain.At(or(t)) }

// Show returns a query of a user, "" = of any, with its mail: from the tables, or from the live
// state if that is further.
func Show(ctx context.Context, a *app.App, id domain.QueryID, user string) (q Query, err error) {
	defer app.Explained(&err, "show "+string(id))
	q, err = find(ctx, a, id)
	if err == nil && user != "" && q.Request.Submitter != user {
		q, err = Query{}, noSuch(id)
	}
	if err == nil && q.Request.Recipients > 0 {
		q.Mail, err = mailOf(ctx, a, id)
	}
	return q, err
}

// noSuch returns the error about a query that does not exist.
func noSuch(id domain.QueryID) error {
	return &app.Error{Kind: app.NotFound, Err: fmt.Errorf("there is no query %s", id), Hint: "`accession query ls` lists them"}
}

func find(ctx context.Context, a *app.App, id domain.QueryID) (Query, error) {
	q, err := showing.Latest(ctx, a, func(q Query) int64 { return q.Version },
		func(h *eventstore.Handler) (Query, error) {
			now, err := h.Queries.LoadQuery(ctx, id)
			return of(now.State), err
		},
		func(db query.Reader) (q Query, err error) {
			row, err := query.QueryByID(ctx, db, id)
			if err == nil {
				q = ofRow(row)
			}
			return q, err
		})
	if errors.Is(err, query.ErrNotFound) {
		err = noSuch(id)
	}
	return q, err
}

// Filter chooses queries.
type Filter = query.QueryFilter

var list = showing.List[domain.QueryID, query.QueryRow, Query]{Kind: "query", Parse: domain.ParseQueryID, Item: ofRow, ID: func(q Query) domain.QueryID { return q.ID }}

// Ls lists queries, newest first, from a cursor on.
func Ls(ctx context.Context, a *app.App, f Filter, from app.Cursor) (p app.Page[Query], err error) {
	defer app.Explained(&err, "list queries")
	return list.Page(ctx, a, from, f.Limit, func(db query.Reader, before domain.QueryID, limit int) ([]query.QueryRow, error) {
		f.Before, f.Limit = before, limit
		return query.Queries(ctx, db, f)
	})
}

// Fail ends a query that waits, is parked or runs.
func Fail(ctx context.Context, a *app.App, id domain.QueryID, why string) (c app.Changed, err error) {
	defer app.Explained(&err, "fail "+string(id))
	if why = strings.TrimSpace(why); why == "" {
		return c, &app.Error{Kind: app.Invalid, Err: errors.New("failing a query needs a reason"), Hint: "say why with --reason; it stays in the history"}
	}
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return c, err
	}
	res, err := handler.FailQuery(ctx, id, domain.Reason{Class: domain.ClassCancelled, Code: domain.CodeCancelled, Message: why}, a.Meta())
	if errors.Is(err, eventstore.ErrNotFound) {
		return c, &app.Error{Kind: app.NotFound, Err: fmt.Errorf("there is no query %s in ZooKeeper", id), Hint: "`accession query ls` lists them"}
	}
	if err != nil {
		return c, err
	}
	return app.Changed{Target: target.Of(id.Aggregate()), Version: res.State.Version, From: string(res.Before.State), State: string(res.State.State), Row: res.Row, DryRun: a.DryRun}, nil
}

// Report begins the report of a query of a user, "" = of any, that was answered: its answers
// are read while they are written. The caller closes it.
func Report(ctx context.Context, a *app.App, id domain.QueryID, user string) (r app.Report, err error) {
	defer app.Explained(&err, "report on "+string(id))
	q, err := Show(ctx, a, id, user)
	if err != nil {
		return r, err
	}
	if q.Answer == nil {
		return r, &app.Error{Kind: app.Refused, Err: fmt.Errorf("%s is %s, not answered", id, q.Status), Hint: "`accession query show " + string(id) + " --watch` waits for its end"}
	}
	return ReportOf(ctx, a.Open.Uploads, lookup.Query{ID: id, Request: q.Request, Answer: q.Answer}), nil
}

// ReportOf is the report of an answered query, see [Report].
func ReportOf(ctx context.Context, objects report.Objects, q lookup.Query) app.Report {
	r := report.Answers(lookup.Counts{Lines: q.Request.Lines, Wrong: q.Request.Wrong}, report.Kept[lookup.Answer](ctx, objects, q.Answer.URL, q.Answer.SHA256))
	r.Name, r.Title, r.Format = "query", "What is known of the list of "+string(q.ID), q.Request.Format
	r.Facts = append([]app.Fact{{Name: "query_id", Label: "query", Value: string(q.ID)}, {Name: "submitter", Label: "submitter", Value: q.Request.Submitter},
		{Name: "found", Label: "found", Value: int64(q.Answer.Found)}, {Name: "not_found", Label: "not found", Value: int64(q.Answer.NotFound)}}, r.Facts...)
	r.Tables[0].Rows = app.ExplainedRows(r.Tables[0].Rows)
	return r
}

// fileName returns the name of the file of a list as it is kept.
func fileName(path string) string {
	if path == "-" {
		return ""
	}
	return text.Line(filepath.Base(path))
}
