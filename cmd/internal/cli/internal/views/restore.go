package views

import (
	"fmt"
	"io"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/export"
)

// whatNext is the line after a restore.
const whatNext = "now start `accession serve`, then run `accession verify`"

// Restored writes what was restored to ZooKeeper.
func Restored(w io.Writer, r app.Restored) {
	verb := "restored"
	if r.DryRun {
		verb = "would be restored"
	}
	fmt.Fprintf(w, "%d batches, %d jobs and %d settings %s from %d events; epoch %d begins\n", r.Batches, r.Jobs, r.Settings, verb, r.Events, r.Epoch)
	for _, id := range r.Missing {
		fmt.Fprintf(w, "%s of the older copy does not fit the log, which has gone on without it: it is lost\n", export.Line(id))
	}
	if r.RecordError != "" {
		fmt.Fprintf(w, "ids were taken from the log only, PostgreSQL was not read: %s\n", export.Line(r.RecordError))
	}
	if !r.DryRun {
		fmt.Fprintln(w, whatNext)
	}
}

// RestoredLog writes what was restored to the log.
func RestoredLog(w io.Writer, r app.Restored) {
	switch {
	case r.DryRun:
		fmt.Fprintf(w, "%d events would be restored\n", r.Events)
	case r.Events == 0:
		fmt.Fprintln(w, "the log has lost no events that are known")
	default:
		fmt.Fprintf(w, "%d events were restored\n", r.Events)
	}
	if r.Short > 0 {
		fmt.Fprintf(w, "the log has %d events less than it had, perhaps those of files alone: no copy has them. `accession verify` names batches and jobs "+
			"that lack some; for them put a newer copy of NATS or of PostgreSQL back, and run this again\n", r.Short)
	}
	if r.Epoch > 0 {
		fmt.Fprintf(w, "epoch %d begins\n", r.Epoch)
	}
	for _, id := range r.Missing {
		fmt.Fprintf(w, "%s cannot be restored: an event before it has no copy\n", export.Line(id))
	}
	if r.Rebuild {
		fmt.Fprintln(w, "events have other sequences than before: rebuild the tables with `accession rebuild`")
	}
	if r.TreeLost {
		fmt.Fprintln(w, "the tree in ZooKeeper is lost too: restore it with `accession restore zookeeper`")
	} else if !r.DryRun && r.Events > 0 {
		fmt.Fprintln(w, whatNext)
	}
}
