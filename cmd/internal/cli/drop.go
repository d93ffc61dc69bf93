package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain/fair"
)

// drop returns `accession drop`.
func (p *program) drop() *cobra.Command {
	c := &cobra.Command{
		Use:   "drop",
		Short: "The drop folder, which takes files while servers are away",
		Long: `The drop folder takes files with ` + "`accession submit --drop`" + `, also while no server
answers. The role transfer of ` + "`accession serve`" + ` makes a batch of each, in the order
of their reception. A deposit of which none can be made stays in the folder, with the
reason.`,
	}
	c.AddCommand(p.dropList(), p.dropShow(), p.dropTransfer(true), p.dropTransfer(false),
		changing(p, verb[string]{
			name: "retry", short: "Let refused deposits be transferred again",
			long:    "Let deposits be transferred again of which no batch could be made, once the cause is\nrepaired: a profile, or a digest.",
			example: "  accession drop retry 01937f5e-7c3a-7b1e-9d42-5f0f3c1a2b4d",
			as:      dropChange("drop.retry"),
		}, "DEPOSIT...", flags.AtLeast(1), same),
		changing(p, verb[string]{
			name: "rm", final: true, short: "Remove deposits from the drop folder, for ever",
			long:    "Remove deposits from the drop folder. Their files are removed too; who removed them, when\nand why stays, and `accession drop show` shows it. It is refused when the deposit became\na batch.",
			example: "  accession drop rm 01937f5e-7c3a-7b1e-9d42-5f0f3c1a2b4d --yes",
			as:      dropChange("drop.rm"),
		}, "DEPOSIT...", flags.AtLeast(1), same))
	return c
}

func same(args []string) []string { return args }

// dropChange is what is asked for to change a deposit in the drop folder.
func dropChange(name string) as[string] {
	return func(id string, change operation.Change) request {
		return request{name, &operation.DropChange{UploadID: operation.UploadID{ID: id}, Match: operation.Match{Change: change}}}
	}
}

func (p *program) dropTransfer(stop bool) *cobra.Command {
	v := verb[string]{
		name: "start", reason: true,
		short:   "Let deposits from the drop folder become batches again",
		long:    "Start the transfer from the drop folder again, in every process.",
		example: "  accession drop start --reason \"the store is back\"",
	}
	if stop {
		v.name = "stop"
		v.short = "Keep deposits in the drop folder; it goes on to take files"
		v.long = "Stop the transfer from the drop folder, in every process, until `accession drop start`,\nalso over restarts. The folder goes on to take files."
		v.example = "  accession drop stop --reason \"the store is being moved\""
	}
	v.as = func(_ string, change operation.Change) request {
		return request{"drop." + v.name, &operation.Match{Change: change}}
	}
	return changing(p, v, "", cobra.NoArgs, func([]string) []string { return []string{fair.QueueMetadata} })
}

func (p *program) dropList() *cobra.Command {
	var in operation.DropList
	c := &cobra.Command{
		Use: "ls", Short: "List what is in the drop folder",
		Long:    "List the deposits in the drop folder in the order of their reception: those that wait\nand those that were refused, with the reason. For the next page, give --cursor.",
		Example: "  accession drop ls\n  accession drop ls --submitter ana -o json",
		Args:    cobra.NoArgs,
		RunE: served(p, func([]string) request { return request{"drop.ls", &in} }, func(w io.Writer, page app.Page[drops.Shown]) {
			views.Drops(w, page.Items)
			more(w, page, "deposits")
		}),
	}
	c.Flags().StringVar(&in.Submitter, "submitter", "", "only those of this `NAME`")
	c.Flags().StringVar(&in.Profile, "profile", "", "only those for this `PROFILE`")
	c.Flags().StringVar(&in.Collection, "collection", "", "only those for a profile of this `COLLECTION`")
	flags.Parsed(c, &in.State, "state", "", "only those in this `STATE`: waiting or refused", flags.Optional(flags.Among(drops.Waiting, drops.Refused)))
	flags.Age(c, &in.Since, &in.OlderThan, "those", "received")
	flags.Cursor(c, (*app.Cursor)(&in.Cursor))
	flags.Limit(c, &in.Limit, flags.ListLimit, "deposits")
	c.Flags().BoolVar(&in.Removed, "removed", false, "those that operators have removed")
	return c
}

func (p *program) dropShow() *cobra.Command {
	var submitter string
	c := &cobra.Command{
		Use: "show DEPOSIT", Short: "Show what became of a deposit in the drop folder",
		Long:    "Show whether a deposit waits in the drop folder, was refused or removed, or which batch\nit became.",
		Example: "  accession drop show 01937f5e-7c3a-7b1e-9d42-5f0f3c1a2b4d",
		Args:    flags.Exactly(1),
		RunE: served(p, func(args []string) request {
			return request{"upload.show", &operation.UploadShow{UploadID: operation.UploadID{ID: args[0]}, Submitter: submitter}}
		}, views.Drop),
	}
	c.Flags().StringVar(&submitter, "submitter", "", "`NAME` of the depositor (default your user name)")
	return c
}
