package computing

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/entries"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain/compute"
)

func (e Env) output() *cobra.Command {
	var to string
	c := &cobra.Command{
		Use:   "output ENTRY NAME",
		Short: "Write a file that a worker left to the output, or to a file",
		Long: `Write an output of an entry to the standard output or, with --out, to a file that is
there when all of it was compared with its digest. Exit code 8: it is not what the worker
left; what was written to the standard output is then not to be used. Outputs are kept
until the entry is purged.`,
		Example: "  accession compute output eid0000000001 spectrum.nc --out spectrum.nc",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("give an entry id and the name of an output, not %d arguments", len(args))
			}
			return entryID(nil, args[:1])
		},
	}
	c.Flags().StringVar(&to, "out", "", "write to this `FILE`, which must not exist; - is the standard output")
	c.RunE = e.Over(func(ctx context.Context, d door.Door, args []string) error {
		if to == "" && e.Screen {
			return &app.Error{Kind: app.Invalid, What: "get " + args[1], Err: errors.New("refusing to write a file to a terminal"), Hint: "use --out FILE, or redirect the output"}
		}
		write := func(w io.Writer) error {
			return door.Fetch(ctx, d, "compute.output", &operation.EntryOutput{EntryID: operation.EntryID{ID: args[0]}, Name: args[1]}, nil, w, func(a *app.App) error {
				return copyOutput(ctx, a, compute.ID(args[0]), args[1], w)
			})
		}
		if to == "" || to == "-" {
			return write(e.Out)
		}
		return export.File(to, write)
	})
	return c
}

// copyOutput writes an output, and compares it with its digest.
func copyOutput(ctx context.Context, a *app.App, id compute.ID, name string, w io.Writer) error {
	f, out, err := entries.Output(ctx, a, id, name)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(w, sum), f)
	if err = errors.Join(err, f.Close()); err == nil && hex.EncodeToString(sum.Sum(nil)) != out.SHA256 {
		err = &app.Error{Kind: app.Lost, What: "get the output " + name, Err: errors.New("it is not what the worker left"), Hint: "what was written is not to be used"}
	}
	return err
}
