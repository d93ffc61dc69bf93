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
	"github.com/accession-ingest/accession/cmd/internal/app/queries"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
)

// most is how many ids are offered.
const most = 50

// Using returns what runs with the use cases.
type Using func(do func(ctx context.Context, a *app.App, args []string) error) func(*cobra.Command, []string) error

// Add makes a command and those below it complete their arguments, by the words for them in
// their usage, and their flags, by their names. What would have to be asked of a server that
// does not answer is not offered.
func Add(root *cobra.Command, using Using) {
	for _, c := range root.Commands() {
		Add(c, using)
		for name, offer := range flagsOf(c) {
			if c.Flags().Lookup(name) != nil {
				_ = c.RegisterFlagCompletionFunc(name, offer.complete(using, nil)) // it is there
			}
		}
		if offer, many := argument(c.Use); offer != nil && c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 {
			c.ValidArgsFunction = offer.complete(using, func(args []string) bool { return many || len(args) == 0 })
		}
	}
}

// offer returns what may stand in a place.
type offer func(ctx context.Context, a *app.App) ([]string, error)

// complete returns what cobra calls. more reports whether another argument may follow those
// that are there, nil = always.
func (o offer) complete(using Using, more func(args []string) bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, begun string) (words []string, _ cobra.ShellCompDirective) {
		if more != nil && !more(args) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		_ = using(func(ctx context.Context, a *app.App, _ []string) error { // it then offers nothing
			all, err := o(ctx, a)
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
	}
	return all
}

// argument returns what the argument of a command is, by the first word behind its name in
// its usage, and whether there may be several; nil = something else.
func argument(use string) (o offer, many bool) {
	_, rest, _ := strings.Cut(use, " ")
	word, _, _ := strings.Cut(rest, " ")
	name := strings.TrimSuffix(strings.Trim(word, "[]"), "...")
	o = map[string]offer{"BATCH": batches, "JOB": jobs, "HASH": files, "QUERY": asks, "PROFILE": profiles, "COLLECTION": collections, "QUEUE": queues}[name]
	return o, strings.Contains(word, "...")
}

// texts offers a list.
func texts[T ~string](list []T) offer {
	return func(context.Context, *app.App) (words []string, _ error) {
		for _, v := range list {
			words = append(words, string(v))
		}
		return words, nil
	}
}

func profiles(_ context.Context, a *app.App) (names []string, err error) {
	list, err := a.Profiles()
	for _, p := range list {
		names = append(names, p.Name)
	}
	return names, err
}

func collections(_ context.Context, a *app.App) (names []string, err error) {
	list, err := a.Profiles()
	for _, p := range list {
		if !slices.Contains(names, p.Collection) {
			names = append(names, p.Collection)
		}
	}
	return names, err
}

func queues(context.Context, *app.App) (names []string, err error) {
	names = append(slices.Clone(domain.DepositQueues), domain.QueueIngest)
	for _, s := range domain.JobStates {
		if s.Worked() {
			names = append(names, string(s))
		}
	}
	return names, nil
}

func batches(ctx context.Context, a *app.App) (ids []string, err error) {
	page, err := a.Batches(ctx, app.BatchFilter{Limit: most}, "")
	for _, b := range page.Items {
		ids = append(ids, b.BatchID)
	}
	return ids, err
}

func jobs(ctx context.Context, a *app.App) (ids []string, err error) {
	page, err := a.Jobs(ctx, app.JobFilter{Limit: most}, "")
	for _, j := range page.Items {
		ids = append(ids, j.ID)
	}
	return ids, err
}

func files(ctx context.Context, a *app.App) (ids []string, err error) {
	page, err := a.Files(ctx, app.FileFilter{Limit: most}, "")
	for _, f := range page.Items {
		ids = append(ids, f.RawFileHash)
	}
	return ids, err
}

func asks(ctx context.Context, a *app.App) (ids []string, err error) {
	page, err := queries.Ls(ctx, a, queries.Filter{Limit: most}, "")
	for _, q := range page.Items {
		ids = append(ids, string(q.ID))
	}
	return ids, err
}
