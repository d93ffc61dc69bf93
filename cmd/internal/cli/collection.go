package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

func (p *program) collection() *cobra.Command {
	all := false
	changes := verbs(p, "COLLECTION", "collection", anyName, of("collection", func(name string, change operation.Change) any {
		return &operation.CollectionChange{CollectionName: operation.CollectionName{Name: name}, Match: operation.Match{Change: change}}
	},
		verb[string]{
			name:  "hold",
			short: "Hold a collection: new batches and pending jobs wait",
			long: `Hold collections: their new batches and pending jobs go to held. Once the command has
answered, no job of them leaves pending for work; jobs past pending continue.`,
			example: "  accession collection hold maps --reason \"new terms\"",
		},
		verb[string]{
			name:  "release",
			short: "End the hold on a collection",
			long: `End the hold on collections. Batches and jobs that are held because of it stay held;
release them with ` + "`accession batch release` and `accession job release`" + `, or with --all.
--all also works when the hold has ended before. What an operator has held stays.`,
			example: "  accession collection release maps --all --dry-run\n  accession collection release maps --all --reason \"terms signed\"",
			flags: func(c *cobra.Command) {
				c.Flags().BoolVar(&all, "all", false, "also release the batches and jobs that wait because of the hold")
			},
			as: func(name string, change operation.Change) request {
				return request{"collection.release", &operation.CollectionRelease{CollectionChange: operation.CollectionChange{CollectionName: operation.CollectionName{Name: name}, Match: operation.Match{Change: change}}, All: all}}
			},
		})...)
	return group(&cobra.Command{
		Use:   "collection",
		Short: "List, hold and release collections",
		Long: `A profile describes a collection. While it is on hold, its new batches and its pending
jobs wait in held; jobs past pending continue.`,
		Example: "  accession collection ls\n  accession collection hold maps --reason \"new terms\"",
	}, append(changes, p.collectionLs(), p.collectionShow())...)
}

func (p *program) collectionLs() *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List collections, their holds and what is held",
		Long: `List the collections that profiles describe: which are on hold, since when, by whom
and why, and how many batches and jobs of each are held. Without PostgreSQL the counts
are unknown.`,
		Example: "  accession collection ls\n  accession collection ls -o json | jq '.items[] | select(.hold)'",
		Args:    cobra.NoArgs,
		RunE:    served(p, func([]string) request { return request{"collection.ls", &operation.None{}} }, func(w io.Writer, list app.Page[app.Collection]) { views.Collections(w, list.Items) }),
	}
}

func (p *program) collectionShow() *cobra.Command {
	var in operation.CollectionName
	return &cobra.Command{
		Use:     "show COLLECTION",
		Short:   "Show a collection, its hold and what is held",
		Long:    "Show a collection as `accession collection ls` does.",
		Example: "  accession collection show maps\n  accession collection show maps -o json | jq .setting_version",
		Args:    flags.Exactly(1),
		RunE:    served(p, func(args []string) request { in.Name = args[0]; return request{"collection.show", &in} }, func(w io.Writer, c app.Collection) { views.Collections(w, []app.Collection{c}) }),
	}
}
