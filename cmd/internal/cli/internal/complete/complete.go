// Package complete completes command lines in shells: states, profiles, collections and
// queues, and the ids of batches, jobs, files and queries, newest first where they have an
// order.
package complete

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/bulk"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/app/objects"
	"github.com/accession-ingest/accession/cmd/internal/app/queries"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
)

// most is how many ids are offered.
const most = 50

// Over returns what runs with the use cases, wherever they are.
type Over func(do func(ctx context.Context, d door.Door, args []string) error) func(*cobra.Command, []string) error

// Add makes a command and those below it complete their arguments, by the words for them in
// their usage, and their flags, by their names. What would have to be asked of a server that
// does not answer is not offered.
func Add(root *cobra.Command, over Over) {
	for _, c := range root.Commands() {
		Add(c, over)
		for name, offer := range flagsOf(c) {
			if c.Flags().Lookup(name) != nil {
				_ = c.RegisterFlagCompletionFunc(name, offer.complete(over, nil)) // it is there
			}
		}
		if offer, many := argument(c.Use); offer != nil && c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 {
			c.ValidArgsFunction = offer.complete(over, func(args []string) bool { return many || len(args) == 0 })
		}
	}
}

// offer returns what may stand in a place.
type offer func(ctx context.Context, d door.Door) ([]string, error)

// complete returns what cobra calls. more reports whether another argument may follow those
// that are there, nil = always.
func (o offer) complete(over Over, more func(args []string) bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, begun string) (words []string, _ cobra.ShellCompDirective) {
		if more != nil && !more(args) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		_ = over(func(ctx context.Context, d door.Door, _ []string) error { // it then offers nothing
			all, err := o(ctx, d)
			for _, word := range all {
				if strings.HasPrefix(word, begun) && !slices.Contains(args, word) {
					words = append(words, word)
				}
			}
			return err
		})(c, args)
		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// flagsOf returns what the flags of a command take.
func flagsOf(c *cobra.Command) map[string]offer {
	all := map[string]offer{"profile": profiles, "collection": collections, "batch": batches, "job": jobs}
	switch c.Parent().Name() {
	case "batch":
		all["state"] = texts(domain.BatchStates)
	case "job":
		all["state"] = texts(append(slices.Clone(domain.JobStates), domain.JobDeleted))
	case "file":
		all["state"] = texts(domain.FileStates)
	case "query":
		all["state"] = texts([]asked.State{asked.Received, asked.Parked, asked.Grabbed, asked.Answered, asked.Failed})
	case "drop":
		all["state"] = texts([]string{drops.Waiting, drops.Refused})
	case "bulk":
		if c.Name() == "ls" {
			all["state"] = texts(bulk.States)
		}
	}
	return all
}

// argument returns what the argument of a command is, by the first word behind its name in
// its usage, and whether there may be several; nil = something else.
func argument(use string) (o offer, many bool) {
	_, rest, _ := strings.Cut(use, " ")
	word, _, _ := strings.Cut(rest, " ")
	name := strings.TrimSuffix(strings.Trim(word, "[]"), "...")
	o = map[string]offer{"BATCH": batches, "JOB": jobs, "HASH": files, "QUERY": asks, "PROFILE": profiles, "COLLECTION": collections, "QUEUE": queues, "OBJECT": stored}[name]
	return o, strings.Contains(word, "...")
}

// texts offers a list.
func texts[T ~string](list []T) offer {
	return func(context.Context, door.Door) (words []string, _ error) {
		for _, v := range list {
			words = append(words, string(v))
		}
		return words, nil
	}
}

// items offers the ids of a page of what an operation lists, each once.
func items[T any](name string, in any, id func(T) string) offer {
	return func(ctx context.Context, d door.Door) (ids []string, _ error) {
		page, err := door.Carry[app.Page[T]](ctx, d, name, in)
		for _, item := range page.Items {
			if one := id(item); !slices.Contains(ids, one) {
				ids = append(ids, one)
			}
		}
		return ids, err
	}
}

var (
	first       = operation.Page{Limit: most}
	profiles    = items("profile.ls", &operation.None{}, func(p operation.ProfileItem) string { return p.Name })
	collections = items("profile.ls", &operation.None{}, func(p operation.ProfileItem) string { return p.Collection })
	batches     = items("batch.ls", &operation.BatchList{Page: first}, func(b app.BatchSummary) string { return b.ID })
	jobs        = items("job.ls", &operation.JobList{Page: first}, func(j app.JobRow) string { return j.ID })
	files       = items("file.ls", &operation.FileList{Page: first}, func(f app.FileRow) string { return f.ID })
	asks        = items("query.ls", &operation.QueryList{Page: first}, func(q queries.Query) string { return string(q.ID) })
	stored      = items("object.ls", &operation.ObjectList{Page: first}, func(o objects.Object) string { return o.ID })
)

func queues(context.Context, door.Door) (names []string, err error) {
	names = append(slices.Clone(domain.DepositQueues), domain.QueueIngest)
	for _, s := range domain.JobStates {
		if s.Worked() {
			names = append(names, string(s))
		}
	}
	return names, nil
}
