package views

import (
	"fmt"
	"io"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/app/synchronous"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/watch"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/domain"
)

// Earlier says what is known of a deposit from before.
func Earlier(w io.Writer, s app.Submitted) {
	if s.SameAs != "" {
		fmt.Fprintf(w, "warning: the same payload was deposited before, as %s\nhint: `accession batch show %s` shows what became of it\n", s.SameAs, s.SameAs)
	}
	if s.Object != "" {
		fmt.Fprintf(w, "this is to be version %d of %s, unless other deposits of it come before\n", s.ObjectVersion, s.Object)
	}
	if s.Again {
		fmt.Fprintf(w, "%s was accepted before, under the same key\n", s.Batch)
	}
}

// Accepted says that a deposit is accepted, as what if that is known.
func Accepted(w io.Writer, s app.Submitted) {
	Earlier(w, s)
	accepted(w, s)
}

func accepted(w io.Writer, s app.Submitted) {
	as := "; its content will say what it is"
	if s.Type != "" {
		as = " as " + string(s.Type)
	}
	fmt.Fprintf(w, "%s accepted%s\n", s.Batch, as)
}

// Submitted writes the answer to a deposit.
func Submitted(w io.Writer, s app.Submitted) {
	accepted(w, s)
	fmt.Fprintf(w, "hint: `accession batch show %s` shows its progress\n", s.Batch)
}

// Dropped writes the answer to a deposit in the drop folder.
func Dropped(w io.Writer, got drops.Deposit) {
	fmt.Fprintf(w, "%s is in the drop folder, %d bytes\nhint: `accession drop show %s` shows what became of it\n", got.ID, got.Size, got.ID)
}

// Synchronous writes what became of a synchronous deposit.
func Synchronous(w io.Writer, is synchronous.Answer) {
	switch {
	case !is.Done && is.Unknown != "":
		fmt.Fprintf(w, "%s was accepted and goes on; no more is known: %s\nhint: `accession batch show %s --watch` follows it\n", is.Batch, export.Line(is.Unknown), is.Batch)
		return
	case !is.Done:
		fmt.Fprintf(w, "%s is not done yet, and goes on: %s\nhint: `accession batch show %s --watch` follows it\n", is.Batch, is.State, is.Batch)
		return
	case is.Report != nil:
		Report(w, *is.Report)
	default:
		fmt.Fprintf(w, "%s\nits report is not known: %s\nhint: `accession batch report %s` shows it later\n", watch.Summary(is.Progress), export.Line(is.Unknown), is.Batch)
	}
	if is.State == domain.BatchHeld {
		fmt.Fprintf(w, "%s is held: once it is released it waits in the deposit queue\n", is.Batch)
	}
}
