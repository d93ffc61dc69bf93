package operation

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/app/queries"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation/internal/sight"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/domain/asked"
)

// List is a list of identifiers as the body of a request.
type List struct{ body io.Reader }

// Resolve implements huma.Resolver: the body is read as it arrives.
func (l *List) Resolve(ctx huma.Context) []error {
	l.body = drops.Patient(ctx.BodyReader(), ctx.SetReadDeadline)
	return nil
}

// QuerySubmit asks about a list of identifiers, in turn.
type QuerySubmit struct {
	List
	Once
	Name      string   `query:"name" maxLength:"255" example:"shelf.txt" doc:"Name of the file of the list"`
	Submitter string   `query:"submitter" maxLength:"256" doc:"Who asks; operators of all collections may name another user. Default: you"`
	Mail      []string `query:"mail" maxItems:"100" doc:"Mail the report to these addresses; separated by commas"`
	Format    string   `query:"format" enum:"text,csv,json" doc:"Format of the report; default text"`
}

func (q *QuerySubmit) prepare(op *Operation, c *Call) error { return q.command(op, c, "") }

// QueryAnswer asks about a list of identifiers now.
type QueryAnswer struct {
	List
	Format string `query:"format" enum:"text,csv,json,html" default:"json" doc:"Format of the answers"`
	Zone   string `query:"zone" maxLength:"64" example:"Europe/Berlin" doc:"With text and html: the zone of times, by its name in the IANA time zone database; default UTC"`
}

// QueryID names a query.
type QueryID struct {
	ID string `path:"id" maxLength:"40" example:"qid0000000001" doc:"Query id"`
}

func (q *QueryID) id() (domain.QueryID, error) {
	id, err := domain.ParseQueryID(q.ID)
	if err != nil {
		err = invalid("%v", err)
	}
	return id, err
}

// QueryReport is the report of a query.
type QueryReport struct {
	QueryID
	Format string `query:"format" enum:"text,csv,json,html" doc:"Format of the answers; default: that of its submission"`
	Zone   string `query:"zone" maxLength:"64" example:"Europe/Berlin" doc:"With text and html: the zone of times, by its name in the IANA time zone database; default UTC"`
}

// QueryList chooses queries.
type QueryList struct {
	Page
	Age
	Submitter string `query:"submitter" maxLength:"256" doc:"Only those of this user"`
	Code      string `query:"code" maxLength:"100" doc:"Only those that failed or are parked for a reason with this code"`
	State     string `query:"state" enum:"received,parked,grabbed,answered,failed" doc:"Only in this state"`
}

// QueryChange is a command about a query.
type QueryChange struct {
	QueryID
	Match
}

// How many lists of identifiers are answered at once, each of up to [lookup.MaxLines] lines.
const answersAtOnce, answersOfOne = 16, 2

func queryOperations() []*Operation {
	answering := &atOnce{name: "answers", what: "ask about a list", counted: "lists are answered", all: answersAtOnce, ofOne: answersOfOne, wait: 5 * time.Second}
	all := []*Operation{
		row(Operation{Name: "query.submit", Method: http.MethodPost, Path: "/v1/queries", Summary: "Ask about a list of identifiers, in turn",
			On: OnSeen, Write: true, File: true}, func(ctx context.Context, c *Call, in *QuerySubmit) (q queries.Query, err error) {
			w := queries.Wishes{Submitter: in.Submitter, Mail: in.Mail, Format: in.Format, Key: in.Key, Sees: new(c.Caller.Filter())}.Of(c.Caller.Name)
			if w.Submitter != c.Caller.Name && !c.Caller.May(access.Act, "") {
				return q, &app.Error{Kind: app.Forbidden, What: "ask for " + w.Submitter, Err: fmt.Errorf("you have no right to ask for another user"),
					Hint: "leave submitter out; operators of all collections may name another user"}
			}
			r := &drops.Receiver{App: c.App, Waiting: c.App.Open.WaitingLimit}
			if err := r.RoomForQuery(ctx, w.Submitter, w.Key); err != nil {
				return q, err
			}
			c.limit = r.Limit()
			list, err := queries.Read("-", in.body)
			if err != nil {
				return q, err
			}
			defer list.Close()
			return queries.Submit(ctx, c.App, list.Named(in.Name), w)
		}),
		stream(Operation{Name: "query.answer", Method: http.MethodPost, Path: "/v1/queries/answer", Summary: "Ask about a list of identifiers now",
			On: OnSeen, File: true, Sends: reportTypes()}, func(ctx context.Context, c *Call, in *QueryAnswer) (send, error) {
			if err := answering.enter(ctx, c.Caller.Name); err != nil {
				return nil, err
			}
			list, err := queries.Read("-", in.body)
			if err != nil {
				return nil, err
			}
			r, err := queries.Answer(ctx, c.App, list, new(c.Caller.Filter()))
			return answers(r, in.Format, in.Zone, err)
		}),
		get("query.ls", "/v1/queries", "List queries, newest first: the own, or all with the right in all collections", OnSelf, false, func(ctx context.Context, c *Call, in *QueryList) (app.Page[queries.Query], error) {
			own := c.Caller.SeesUser()
			if own != "" && in.Submitter != "" && in.Submitter != own {
				return orUnknown(ctx, c, sight.Named{Submitter: in.Submitter}, app.Page[queries.Query]{Items: []queries.Query{}}, nil)
			}
			p, err := queries.Ls(ctx, c.App, queries.Filter{Status: asked.State(in.State), Submitter: cmp.Or(own, in.Submitter), Code: in.Code, Since: in.Since, Until: in.OlderThan, Limit: in.Limit}, app.Cursor(in.Cursor))
			return orUnknown(ctx, c, sight.Named{Submitter: in.Submitter}, p, err)
		}),
		get("query.show", "/v1/queries/{id}", "Show a query, and how its lines were answered: an own one, or any with the right in all collections", OnSelf, false, func(ctx context.Context, c *Call, in *QueryID) (q queries.Query, err error) {
			id, err := in.id()
			if err != nil {
				return q, err
			}
			return queries.Show(ctx, c.App, id, c.Caller.SeesUser())
		}),
		stream(Operation{Name: "query.report", Method: http.MethodGet, Path: "/v1/queries/{id}/report", Summary: "Get the answers of a query: of an own one, or of any with the right in all collections",
			On: OnSelf, Awaits: true, Sends: reportTypes()}, func(ctx context.Context, c *Call, in *QueryReport) (send, error) {
			id, err := in.id()
			if err != nil {
				return nil, err
			}
			r, err := queries.Report(ctx, c.App, id, c.Caller.SeesUser())
			return answers(r, cmp.Or(in.Format, r.Format, export.FormatText), in.Zone, err)
		}),
	}
	change := func(verb, summary string, do func(ctx context.Context, c *Call, id domain.QueryID, why string) (app.Changed, error)) *Operation {
		return act("query."+verb, "/v1/queries/{id}/"+verb, summary, func(ctx context.Context, c *Call, in *QueryChange) (app.Changed, error) {
			id, err := in.id()
			if err != nil {
				return app.Changed{}, err
			}
			return do(ctx, c, id, in.Why())
		})
	}
	again := change("send-report", "Mail the report of a query again", func(ctx context.Context, c *Call, id domain.QueryID, why string) (app.Changed, error) {
		return queries.SendReport(ctx, c.App, c.By, id, why)
	})
	again.Audits = true // with the key of the mail
	return append(all, change("fail", "End a query that has neither been answered nor failed", func(ctx context.Context, c *Call, id domain.QueryID, why string) (app.Changed, error) {
		return queries.Fail(ctx, c.App, id, why)
	}), again)
}

// answers returns what sends the answers of a query, begun without an error, with times in a zone.
func answers(r app.Report, format, zone string, err error) (send, error) {
	if err != nil {
		return nil, err
	}
	in, err := export.Zone(zone, format)
	if err != nil {
		r.Close()
		return nil, err
	}
	return writtenAs(r, export.ReportOptions{Format: format, Made: time.Now(), Zone: in}), nil
}
