package operation

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
)

// Token is the session that a request came with.
type Token struct {
	Authorization string `header:"Authorization" hidden:"true" secret:"true"`
}

// Ended says that a session has ended.
type Ended struct {
	Ended bool `json:"ended" doc:"Whether the request came with a session, which has ended"`
}

func sessions() []*Operation {
	return []*Operation{
		row(Operation{Name: "session.begin", Method: http.MethodPost, Path: "/v1/sessions", Summary: "Begin a session with your name and password: further requests give its token",
			On: OnSelf, Write: true, Audits: true}, func(ctx context.Context, c *Call, _ *None) (s people.Session, err error) {
			if c.By.Via != "password" {
				return s, &app.Error{Kind: app.Refused, What: "begin a session", Err: errors.New("a session begins with a name and password"),
					Hint: "send them by the scheme Basic; a key needs no session"}
			}
			p, err := people.Of(ctx, c.App)
			if err != nil {
				return s, err
			}
			return p.Begin(ctx, c.By)
		}),
		row(Operation{Name: "session.end", Method: http.MethodPost, Path: "/v1/sessions/end", Summary: "End the session that the request comes with",
			On: OnSelf, Write: true, Audits: true}, func(ctx context.Context, c *Call, in *Token) (e Ended, err error) {
			if e.Ended = c.By.Via == "session"; !e.Ended {
				return e, nil
			}
			p, err := people.Of(ctx, c.App)
			if err != nil {
				return e, err
			}
			return e, p.End(ctx, c.By, strings.TrimSpace(strings.TrimPrefix(in.Authorization, "Bearer ")))
		}),
	}
}
