// Package bulk has the use cases about bulk actions: commands of operators about all batches,
// jobs, files, entries, queries, deposits in the drop folder, slots or open directories that a
// filter selects, which the service carries out.
package bulk

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/again"
	"github.com/accession-ingest/accession/cmd/internal/app/directories"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/app/entries"
	"github.com/accession-ingest/accession/cmd/internal/app/queries"
	"github.com/accession-ingest/accession/cmd/internal/app/slots"
	"github.com/accession-ingest/accession/domain"
)

// Verb is a command that may be given to all that a filter selects.
type Verb struct {
	Kind domain.Kind
	Name string
	// Reason says that it needs a reason, Priority that it needs a priority, and Window that it
	// may have a new end of windows.
	Reason, Priority, Window bool

	do func(a *app.App, ctx context.Context, id string, r Request) (app.Changed, error)
}

// verbOf returns the row of a command.
func verbOf[ID ~string](kind domain.Kind, name string, reason bool, do func(a *app.App, ctx context.Context, id ID, why string) (app.Changed, error)) Verb {
	return Verb{Kind: kind, Name: name, Reason: reason, do: func(a *app.App, ctx context.Context, id string, r Request) (app.Changed, error) {
		return do(a, ctx, ID(id), r.Reason)
	}}
}

// function returns a use case that is a function as verbOf takes it.
func function[ID ~string](do func(context.Context, *app.App, ID, string) (app.Changed, error)) func(*app.App, context.Context, ID, string) (app.Changed, error) {
	return func(a *app.App, ctx context.Context, id ID, why string) (app.Changed, error) {
		return do(ctx, a, id, why)
	}
}

// Verbs are all commands that may be given to all that a filter selects.
var Verbs = []Verb{
	verbOf(domain.KindBatch, "release", false, (*app.App).ReleaseBatch),
	verbOf(domain.KindBatch, "update-report", false, (*app.App).RequestUpdate),
	verbOf(domain.KindBatch, "send-report", false, (*app.App).SendReport),
	verbOf(domain.KindBatch, "delete", true, (*app.App).DeleteBatch),
	verbOf(domain.KindBatch, "cleanup", false, (*app.App).CleanBatch),
	verbOf(domain.KindJob, "hold", false, (*app.App).HoldJob),
	verbOf(domain.KindJob, "release", false, (*app.App).ReleaseJob),
	verbOf(domain.KindJob, "fail", true, (*app.App).FailJob),
	verbOf(domain.KindJob, "requeue", false, (*app.App).Requeue),
	verbOf(domain.KindJob, "delete", true, (*app.App).DeleteJob),
	{Kind: domain.KindJob, Name: "priority", Priority: true, do: func(a *app.App, ctx context.Context, id string, r Request) (app.Changed, error) {
		return a.Reprioritise(ctx, domain.JobID(id), *r.Priority, r.Reason)
	}},
	verbOf(domain.KindFile, "requeue", false, (*app.App).RequeueFile),
	verbOf(domain.KindFile, "skip", true, (*app.App).SkipFile),
	verbOf(domain.KindFile, "redownload", true, function(again.Redownload)),
	verbOf(domain.KindFile, "reprocess", true, function(again.Reprocess)),
	verbOf(domain.KindFile, "abandon", true, function(again.Abandon)),
	verbOf(domain.KindEntry, retry, false, function(entries.Retry)),
	verbOf(domain.KindQuery, "fail", true, function(queries.Fail)),
	verbOf(domain.KindQuery, "send-report", false, function(sendReport)),
	verbOf(KindDrop, retry, false, function(drops.Retry)),
	verbOf(KindDrop, "rm", false, function(drops.Remove)),
	{Kind: domain.KindSlot, Name: "open", Reason: true, Window: true, do: func(a *app.App, ctx context.Context, id string, r Request) (app.Changed, error) {
		return slots.Open(ctx, a, id, r.To, r.Reason)
	}},
	verbOf(domain.KindSlot, "close", true, function(slots.Close)),
	verbOf(KindDiscover, "run", false, function(directories.RunDiscovery)),
	verbOf(KindDiscover, "pause", true, function(directories.PauseDiscovery)),
	verbOf(KindDiscover, "resume", true, function(directories.ResumeDiscovery)),
	verbOf(KindDiscover, "rm", true, function(directories.RmDiscovery)),
}

// find returns the row of a request, or an error that says what is wrong with the request.
func find(r Request) (Verb, error) {
	i := slices.IndexFunc(Verbs, func(v Verb) bool { return v.Kind == r.Kind && v.Name == r.Verb })
	if i < 0 {
		names := make([]string, len(Verbs))
		for i, v := range Verbs {
			names[i] = string(v.Kind) + " " + v.Name
		}
		return Verb{}, invalid("choose one of "+strings.Join(names, ", "), "%q is not a command about all %s that a filter selects", r.Verb, Plural(r.Kind))
	}
	v := Verbs[i]
	switch {
	case v.Reason && strings.TrimSpace(r.Reason) == "":
		return v, invalid("say why; it stays in the history", "%s needs a reason", v.Name)
	case v.Priority != (r.Priority != nil):
		return v, invalid("give priority with the verb priority, and only with it", "the priority does not fit the verb %s", v.Name)
	case !r.To.IsZero() && !v.Window:
		return v, invalid("give it with the verb open of slots", "a new end of windows does not fit the verb %s", v.Name)
	}
	return v, nil
}

// Kinds are what bulk actions are about.
var Kinds = []domain.Kind{domain.KindBatch, domain.KindJob, domain.KindFile, domain.KindEntry, domain.KindQuery, KindDrop, domain.KindSlot, KindDiscover}

// Singular returns the word for a thing of a kind.
func Singular(kind domain.Kind) string {
	switch kind {
	case KindDrop:
		return "deposit"
	case KindDiscover:
		return "directory"
	}
	return string(kind)
}

// Plural returns the word for things of a kind.
func Plural(kind domain.Kind) string {
	switch kind {
	case domain.KindBatch:
		return "batches"
	case domain.KindEntry:
		return "entries"
	case domain.KindQuery:
		return "queries"
	case KindDiscover:
		return "directories"
	}
	return Singular(kind) + "s"
}

func invalid(hint, format string, args ...any) error {
	return &app.Error{Kind: app.Invalid, What: "give a command to all", Err: fmt.Errorf(format, args...), Hint: hint}
}
