package operation

import (
	"context"
	"net/http"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
)

// CollectionChange is a command about a collection.
type CollectionChange struct {
	CollectionName
	Change
}

// CollectionRelease releases the hold of a collection.
type CollectionRelease struct {
	CollectionChange
	All bool `query:"all" doc:"Also release the batches and jobs that wait because of the hold"`
}

// QueueChange is a command about a queue.
type QueueChange struct {
	QueueName
	Match
}

// isURL reports whether a payload is a URL that is fetched.
func isURL(s string) bool { return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") }

// Whole returns a list as its only page.
func Whole[T any](items []T, err error) (app.Page[T], error) {
	if items == nil {
		items = []T{}
	}
	return app.Page[T]{Items: items, Total: new(int64(len(items)))}, err
}

// collections are the operations on collections: a list shows those in which the caller may
// see.
func collections() []*Operation {
	all := []*Operation{
		get("collection.ls", "/v1/collections", "List collections, and which are on hold", OnSeen, false, func(ctx context.Context, c *Call, _ *None) (app.Page[app.Collection], error) {
			list, err := c.App.Collections(ctx)
			seen := []app.Collection{}
			for _, one := range list {
				if c.Caller.May(access.See, one.Name) {
					seen = append(seen, one)
				}
			}
			return Whole(seen, err)
		}),
	}
	for _, v := range []verb[string]{
		{"hold", "Set a hold on a collection", method((*app.App).HoldCollection)},
	} {
		all = append(all, row(Operation{Name: "collection." + v.name, Method: http.MethodPost, Path: "/v1/collections/{name}/" + v.name, Summary: v.summary,
			Need: access.Act, On: OnCollection, Write: true}, func(ctx context.Context, c *Call, in *CollectionChange) (app.Changed, error) {
			return v.do(ctx, c.App, in.Name, in.Why())
		}))
	}
	return append(all, row(Operation{Name: "collection.release", Method: http.MethodPost, Path: "/v1/collections/{name}/release",
		Summary: "Lift the hold of a collection", Need: access.Act, On: OnCollection, Write: true},
		func(ctx context.Context, c *Call, in *CollectionRelease) (app.Changed, error) {
			if in.All {
				return c.App.ReleaseHeld(ctx, in.Name, in.Why())
			}
			return c.App.ReleaseCollection(ctx, in.Name, in.Why())
		}))
}

func queueOperations() []*Operation {
	all := []*Operation{
		get("queue.ls", "/v1/queues", "List the queues of jobs, and which are paused", OnInstallation, false, func(ctx context.Context, c *Call, _ *None) (app.Page[app.Queue], error) {
			return Whole(c.App.Queues(ctx))
		}),
	}
	for _, v := range []verb[string]{
		{"pause", "Pause a queue of jobs: no new claims, running work finishes", method((*app.App).PauseQueue)},
		{"resume", "End the pause of a queue of jobs, or the suspension of a deposit queue", queues.ResumeAny},
	} {
		all = append(all, queueChange("/v1/queues/", v))
	}
	return all
}

func queueChange(path string, v verb[string]) *Operation {
	return row(Operation{Name: "queue." + v.name, Method: http.MethodPost, Path: path + "{name}/" + v.name, Summary: v.summary,
		Need: access.Act, On: OnInstallation, Write: true}, func(ctx context.Context, c *Call, in *QueueChange) (app.Changed, error) {
		return v.do(ctx, c.App, in.Name, in.Why())
	})
}

func status() []*Operation {
	return []*Operation{
		get("status.show", "/v1/status", "Show which servers answer, who works, and what waits", OnInstallation, false, func(ctx context.Context, c *Call, _ *None) (app.Status, error) {
			return c.App.Status(ctx), nil
		}),
	}
}

// TimeoutsSet sets the timeouts of the installation.
type TimeoutsSet struct {
	MatchSetting
	Body struct {
		Download   int64  `json:"download_seconds,omitempty" minimum:"1" maximum:"604800" doc:"How long a download may take, in seconds; absent = as it is"`
		Processing int64  `json:"processing_seconds,omitempty" minimum:"1" maximum:"604800" doc:"How long the processing of a file may take, in seconds; absent = as it is"`
		Reason     string `json:"reason" maxLength:"500" doc:"Why; it stays in the history"`
	}
}

func timeouts() []*Operation {
	return []*Operation{
		get("timeouts.show", "/v1/timeouts", "Show how long attempts at files may take, and what says so", OnInstallation, false, func(ctx context.Context, c *Call, _ *None) (app.Timeouts, error) {
			return c.App.Timeouts(ctx)
		}),
		act("timeouts.set", "/v1/timeouts/set", "Set how long attempts at files may take", func(ctx context.Context, c *Call, in *TimeoutsSet) (app.Changed, error) {
			return c.App.SetTimeouts(ctx, domain.Timeouts{DownloadSeconds: in.Body.Download, ProcessingSeconds: in.Body.Processing}, in.Body.Reason)
		}),
	}
}
