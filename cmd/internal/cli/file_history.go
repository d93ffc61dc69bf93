package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

func (p *program) fileHistory() *cobra.Command {
	return p.aboutFile(&cobra.Command{
		Use:     "history HASH",
		Short:   "Show the history of a file",
		Long:    "Show every change of a file's state: when, after how long, by whom and why, and the\nattempts counted until then. Times are those of the log.",
		Example: "  accession file history " + sampleHash + "\n  accession file history " + sampleHash + " -o json",
	}, func(v app.FileView) error {
		return p.show(v.Transitions, func(w io.Writer) { showFileHistory(w, v.Transitions) })
	})
}

func showFileHistory(w io.Writer, moves []app.FileTransition) {
	lines := make([][]any, len(moves))
	for i, t := range moves {
		after, why, from := "", "", t.FromStatus
		if t.Seconds != nil {
			after = fmt.Sprintf("%.3f s", *t.Seconds)
		}
		if t.ReasonCode != nil {
			why = *t.ReasonCode + ": " + printable(or(t.ReasonMessage, "").(string))
		}
		if from == "" {
			from = "–"
		}
		lines[i] = []any{t.Version, from + " → " + t.ToStatus, at(t.At), after, printable(t.Actor), printable(t.Worker),
			t.DownloadAttempts, t.ProcessingAttempts, t.Size, why}
	}
	rows(w, "no history", []any{"no.", "change", "at", "after", "by", "worker", "downloads", "processings", "bytes", "why"}, lines)
}
