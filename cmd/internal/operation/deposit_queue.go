package operation

import (
	"context"
	"net/http"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/domain/access"
)

// Settings are a change of a deposit queue: the numbers are absent where they stay as they
// are, and -1 where the configuration counts again.
type Settings struct {
	QueueName
	MatchSetting
}

// QueueUsers changes which users only some processors serve.
type QueueUsers struct {
	Settings
	Body struct {
		Users  []string `json:"users" minItems:"1" maxItems:"1000" doc:"Names of the users"`
		Reason string   `json:"reason" maxLength:"500" doc:"Why; it stays in the history"`
	}
}

// QueueDefaults sets the limits of all users who have none of their own.
type QueueDefaults struct {
	Settings
	Body struct {
		Allocation  *int   `json:"allocation,omitempty" minimum:"-1" doc:"Deposits of a user that one visit of round robin grabs; -1 = as the configuration says, absent = as it is"`
		Concurrency *int   `json:"concurrency,omitempty" minimum:"-1" doc:"Deposits of a user that run at once; -1 = as the configuration says, absent = as it is"`
		Synchronous *int   `json:"synchronous,omitempty" minimum:"-1" doc:"Synchronous deposits of all users that run at once; -1 = as the configuration says, absent = as it is"`
		Reason      string `json:"reason" maxLength:"500" doc:"Why; it stays in the history"`
	}
}

// QueueLimit sets the limits of one user.
type QueueLimit struct {
	Settings
	Body struct {
		User        string `json:"user" minLength:"1" maxLength:"256" doc:"Name of the user"`
		Allocation  *int   `json:"allocation,omitempty" minimum:"-1" doc:"Deposits that one visit of round robin grabs: 0 = none, -1 = as the configuration says, absent = as it is"`
		Concurrency *int   `json:"concurrency,omitempty" minimum:"-1" doc:"Deposits that run at once: 0 = none, -1 = as the configuration says, absent = as it is"`
		Reason      string `json:"reason" maxLength:"500" doc:"Why; it stays in the history"`
	}
}

// QueueUnlimit removes what was set of one user.
type QueueUnlimit struct {
	Settings
	Body struct {
		User   string `json:"user" minLength:"1" maxLength:"256" doc:"Name of the user"`
		Reason string `json:"reason" maxLength:"500" doc:"Why; it stays in the history"`
	}
}

// QueueMove parks or unparks deposits of a deposit queue: those of the users, those that are
// named, or with both those of the users that are named.
type QueueMove struct {
	QueueName
	Setting
	Body struct {
		Users  []string  `json:"users,omitempty" maxItems:"1000" doc:"Only deposits of these users"`
		IDs    []string  `json:"ids,omitempty" maxItems:"10000" doc:"Only these batches, or queries"`
		Since  time.Time `json:"received_after,omitzero" doc:"Only those received at this time or later"`
		Until  time.Time `json:"received_before,omitzero" doc:"Only those received before this time"`
		Reason string    `json:"reason" maxLength:"500" doc:"Why; it stays in the history"`
	}
}

// act returns the row of an operator's command about what belongs to no collection.
func act[I, O any](name, path, summary string, do func(ctx context.Context, c *Call, in *I) (O, error)) *Operation {
	return row(Operation{Name: name, Method: http.MethodPost, Path: path, Summary: summary, Need: access.Act, On: OnInstallation, Write: true}, do)
}

// move returns the row of parking or unparking.
func move(verb, summary string, do func(ctx context.Context, a *app.App, c queues.Choice, why string, seen queues.Seen) (queues.Moved, error)) *Operation {
	return act("queue."+verb, "/v1/deposit-queues/{name}/"+verb, summary, func(ctx context.Context, c *Call, in *QueueMove) (queues.Moved, error) {
		b := in.Body
		return do(ctx, c.App, queues.Choice{Queue: in.Name, Users: b.Users, IDs: b.IDs, Since: b.Since, Until: b.Until}, b.Reason, nil)
	})
}

func depositQueueOperations() []*Operation {
	prohibit := func(verb, summary string, allow bool) *Operation {
		return act("queue."+verb, "/v1/deposit-queues/{name}/"+verb, summary, func(ctx context.Context, c *Call, in *QueueUsers) (app.Changed, error) {
			return queues.Prohibit(ctx, c.App, in.Name, in.Body.Users, allow, in.Body.Reason)
		})
	}
	return []*Operation{
		get("queue.board", "/v1/deposit-queues/{name}/board", "Show who waits in a deposit queue", OnInstallation, false, func(ctx context.Context, c *Call, in *QueueName) (queues.Board, error) {
			return queues.ShowBoard(ctx, c.App, in.Name)
		}),
		get("queue.show", "/v1/deposit-queues/{name}", "Show the settings of a deposit queue", OnInstallation, false, func(ctx context.Context, c *Call, in *QueueName) (queues.Shown, error) {
			s, err := queues.Show(ctx, c.App, in.Name)
			c.version = s.Setting
			return s, err
		}),
		queueChange("/v1/deposit-queues/", verb[string]{"suspend", "Suspend a deposit queue: no deposits are grabbed", queues.Suspend}),
		prohibit("prohibit", "Let only processors that require them serve users of a deposit queue", false),
		prohibit("allow", "Let every processor serve users of a deposit queue again", true),
		act("queue.defaults", "/v1/deposit-queues/{name}/defaults", "Set the limits of every user of a deposit queue", func(ctx context.Context, c *Call, in *QueueDefaults) (app.Changed, error) {
			b := in.Body
			return queues.Defaults(ctx, c.App, in.Name, queues.Numbers{Allocation: b.Allocation, Concurrency: b.Concurrency, Synchronous: b.Synchronous}, b.Reason)
		}),
		act("queue.limit", "/v1/deposit-queues/{name}/limit", "Set the limits of a user of a deposit queue", func(ctx context.Context, c *Call, in *QueueLimit) (app.Changed, error) {
			b := in.Body
			return queues.Limit(ctx, c.App, in.Name, b.User, b.Allocation, b.Concurrency, b.Reason)
		}),
		act("queue.unlimit", "/v1/deposit-queues/{name}/unlimit", "Remove the limits that were set of a user of a deposit queue", func(ctx context.Context, c *Call, in *QueueUnlimit) (app.Changed, error) {
			unset := queues.Unset
			return queues.Limit(ctx, c.App, in.Name, in.Body.User, &unset, &unset, in.Body.Reason)
		}),
		row(Operation{Name: "queue.free", Method: http.MethodPost, Path: "/v1/batches/{id}/free", Summary: "Free the place of a running batch in its deposit queue",
			Need: access.Act, On: OnThing, Write: true}, func(ctx context.Context, c *Call, in *BatchChange) (app.Changed, error) {
			return queues.Free(ctx, c.App, in.batch(), in.Why())
		}),
		move("park", "Take waiting deposits out of a deposit queue", queues.Park),
		move("unpark", "Let parked deposits wait again", queues.Unpark),
	}
}
