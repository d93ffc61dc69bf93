package operation

import (
	"context"
	"net/http"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/withdrawal"
	"github.com/accession-ingest/accession/domain/access"
)

// ObjectChange is a command about a stored object.
type ObjectChange struct {
	ObjectID
	Change
}

// WithdrawalList chooses withdrawals.
type WithdrawalList struct {
	Page
	State string `query:"state" maxLength:"20" enum:"requested,approved,removed,rejected,taken_back" doc:"Only in this state"`
}

func withdrawals() []*Operation {
	all := []*Operation{
		acting(get("object.withdrawals", "/v1/withdrawals", "List requests to withdraw objects, and what became of them", OnSome, false,
			func(ctx context.Context, c *Call, in *WithdrawalList) (app.Page[withdrawal.Withdrawal], error) {
				acts := c.Caller.FilterFor(access.Act)
				return withdrawal.List(ctx, c.App, &acts, in.State, in.Limit, app.Cursor(in.Cursor))
			})),
	}
	for _, v := range []verb[string]{
		{"withdraw", "Request that the content of an object is removed for ever", withdrawal.Request},
		{"approve", "Approve the withdrawal of an object that another user has requested", withdrawal.Approve},
		{"reject", "Reject the withdrawal of an object, or take your own request back", withdrawal.Reject},
	} {
		all = append(all, row(Operation{Name: "object." + v.name, Method: http.MethodPost, Path: "/v1/objects/{id}/" + v.name, Summary: v.summary,
			Need: access.Act, On: OnObject, Write: true}, func(ctx context.Context, c *Call, in *ObjectChange) (app.Changed, error) {
			return v.do(ctx, c.App, in.ID, in.Why())
		}))
	}
	return all
}
