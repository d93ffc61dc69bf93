// Package complete completes command lines in shells: states, roles, queues, and the ids or
// names of all that is listed, newest first where it has an order.
package complete

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/bulk"
	"github.com/accession-ingest/accession/cmd/internal/app/directories"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/app/entries"
	"github.com/accession-ingest/accession/cmd/internal/app/objects"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/app/queries"
	"github.com/accession-ingest/accession/cmd/internal/app/withdrawal"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/domain/slot"
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
		for name, completed := range flagsOf(c, over) {
			if c.Flags().Lookup(name) != nil {
				_ = c.RegisterFlagCompletionFunc(name, completed) // it is there
			}
		}
		if offer, many := argument(c); offer != nil && c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 {
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

// states are those of what is listed, by the command above the list; of entries by their kind
// in bulk actions too.
var states = map[string]offer{
	"batch":    texts(domain.BatchStates),
	"job":      texts(append(slices.Clone(domain.JobStates), domain.JobDeleted)),
	"file":     texts(domain.FileStates),
	"query":    texts([]asked.State{asked.Received, asked.Parked, asked.Grabbed, asked.Answered, asked.Failed}),
	"slot":     texts(slot.States),
	"compute":  ofEntries,
	"entry":    ofEntries,
	"discover": texts([]string{"polled", "paused"}),
	"drop":     texts([]string{drops.Waiting, drops.Refused}),
	"bulk":     texts(bulk.States),
	"object":   texts(withdrawal.States),
}

var ofEntries = texts([]entry.State{entry.Pending, entry.Staging, entry.Successful, entry.Failed, entry.Purged})

// flagsOf returns what the flags of a command take.
func flagsOf(c *cobra.Command, over Over) map[string]cobra.CompletionFunc {
	all := map[string]cobra.CompletionFunc{}
	for name, offer := range map[string]offer{"profile": profiles, "collection": collections, "batch": batches, "job": jobs, "dataset": datasets, "user": users} {
		all[name] = offer.complete(over, nil)
	}
	if of := states[c.Parent().Name()]; of != nil {
		all["state"] = of.complete(over, nil)
	}
	if c.Parent().Name() == "bulk" && c.Name() == "begin" {
		all["state"] = func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 || states[args[0]] == nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return states[args[0]].complete(over, nil)(c, args, begun)
		}
	}
	return all
}

// arguments are what stands for an argument in the usage of a command.
var arguments = map[string]offer{"BATCH": batches, "JOB": jobs, "HASH": files, "QUERY": asks, "PROFILE": profiles, "COLLECTION": collections, "QUEUE": queues, "OBJECT": stored,
	"DATASET": datasets, "ENTRY": work, "DEPOSIT": deposits, "USER": users, "PREFIX": keys, "ID": actions}

// names are what NAME is in the usage of a command, by the command above it.
var names = map[string]offer{"dataset": datasets, "discover": discoveries, "user": users}

// argument returns what the first argument of a command is, by the word behind its name in
// its usage, and whether there may be several; nil = something else, or what is new.
func argument(c *cobra.Command) (o offer, many bool) {
	_, rest, _ := strings.Cut(c.Use, " ")
	word, _, _ := strings.Cut(rest, " ")
	o = arguments[strings.TrimSuffix(strings.Trim(word, "[]"), "...")]
	if word == "NAME" && c.Name() != "add" {
		o = names[c.Parent().Name()]
	}
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
	profiles    = items("profile.ls", &operation.ProfileList{}, func(p operation.ProfileItem) string { return p.Name })
	collections = items("profile.ls", &operation.ProfileList{}, func(p operation.ProfileItem) string { return p.Collection })
	batches     = items("batch.ls", &operation.BatchList{Page: first}, func(b app.BatchSummary) string { return b.ID })
	jobs        = items("job.ls", &operation.JobList{Page: first}, func(j app.JobRow) string { return j.ID })
	files       = items("file.ls", &operation.FileList{Page: first}, func(f app.FileRow) string { return f.ID })
	asks        = items("query.ls", &operation.QueryList{Page: first}, func(q queries.Query) string { return string(q.ID) })
	stored      = items("object.ls", &operation.ObjectList{Page: first}, func(o objects.Object) string { return o.ID })
	datasets    = items("dataset.ls", &operation.InCollection{}, func(d directories.Dataset) string { return d.Name })
	discoveries = items("discover.ls", &operation.DiscoveryLs{}, func(d directories.Discovery) string { return d.Name })
	work        = items("compute.ls", &operation.EntryList{Page: first}, func(w entries.Work) string { return string(w.ID) })
	deposits    = items("drop.ls", &operation.DropList{Page: first}, func(s drops.Shown) string { return s.ID })
	actions     = items("bulk.ls", &operation.BulkList{Page: first}, func(a bulk.Action) string { return a.ID })
	users       = items("user.ls", &first, func(u people.User) string { return u.ID })
	keys        = items("key.ls", &operation.KeyList{Page: first}, func(k people.Key) string { return k.ID })
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
