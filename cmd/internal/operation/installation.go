package operation

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/cmd/internal/app/status"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
)

// CollectionChange is a command about a collection.
type CollectionChange struct {
	CollectionName
	Match
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
			return Whole(c.collections(ctx, func(name string) bool { return c.Caller.May(access.See, name) }))
		}),
		get("collection.show", "/v1/collections/{name}", "Show a collection, and whether it is on hold", OnCollection, false, func(ctx context.Context, c *Call, in *CollectionName) (s app.Collection, err error) {
			list, err := c.collections(ctx, func(name string) bool { return name == in.Name })
			switch {
			case err != nil:
				return s, err
			case len(list) == 0:
				return s, &app.Error{Kind: app.NotFound, What: "show the collection " + in.Name, Err: errors.New("no profile describes it, and it is not on hold"), Hint: "`accession collection ls` lists them"}
			}
			c.version = list[0].Setting
			return list[0], nil
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

// collections returns the collections that are chosen, with the versions of their holds.
func (c *Call) collections(ctx context.Context, chosen func(name string) bool) ([]app.Collection, error) {
	list, err := c.App.Collections(ctx)
	list = slices.DeleteFunc(list, func(one app.Collection) bool { return !chosen(one.Name) })
	for i := range list {
		if err == nil {
			list[i].Setting, err = c.holdVersion(ctx, domain.HoldCollection, list[i].Name)
		}
	}
	return list, err
}

// holdVersion returns the version of a hold or pause, 0 = there never was one, or cannot be.
func (c *Call) holdVersion(ctx context.Context, kind domain.SettingKind, name string) (int64, error) {
	if domain.CheckHoldName(kind, name) == nil {
		return queues.Version(ctx, c.App, kind, name)
	}
	return 0, nil
}

func queueOperations() []*Operation {
	all := []*Operation{
		get("queue.ls", "/v1/queues", "List the queues of jobs, and which are paused", OnInstallation, false, func(ctx context.Context, c *Call, _ *None) (app.Page[app.Queue], error) {
			list, err := c.App.Queues(ctx)
			for i := range list {
				if err == nil {
					list[i].Setting, err = c.holdVersion(ctx, domain.HoldQueue, list[i].Name)
				}
			}
			return Whole(list, err)
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

func statusOperations() []*Operation {
	return []*Operation{
		get("status.show", "/v1/status", "Show which servers answer, who works, and what waits", OnInstallation, false, func(ctx context.Context, c *Call, _ *None) (status.Status, error) {
			return status.Of(ctx, c.App), nil
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
