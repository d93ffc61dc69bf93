package domain_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

var update = flag.Bool("update", false, "write the diagrams and docs/states.md anew")

// TestDrawings compares the diagrams and the page in docs with the tables.
func TestDrawings(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"testdata/batch.mmd": batchDiagram(),
		"testdata/job.mmd":   jobDiagram(),
		"testdata/file.mmd":  fileDiagram(),
		"../docs/states.md":  statesPage(),
	} {
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("%s does not show the tables (%v): run `make generate`", path, err)
		}
	}
}

// TestDrawingIsWhole: every row of the tables is in its diagram and its table.
func TestDrawingIsWhole(t *testing.T) {
	t.Parallel()
	for _, r := range domain.BatchTransitions {
		if !strings.Contains(batchDiagram(), ": "+r.Row+" "+string(r.Event)+"\n") || !strings.Contains(batchTable(), "| "+r.Row+" |") {
			t.Errorf("%s is missing", r.Row)
		}
	}
	for _, r := range domain.JobTransitions {
		if !strings.Contains(jobDiagram(), r.Row+" "+string(r.Event)) || !strings.Contains(jobTable(), "| "+r.Row+" |") {
			t.Errorf("%s is missing", r.Row)
		}
	}
	for _, r := range domain.FileTransitions {
		if !strings.Contains(fileDiagram(), ": "+r.Row+" "+string(r.Event)+"\n") || !strings.Contains(fileTable(), "| "+r.Row+" |") {
			t.Errorf("%s is missing", r.Row)
		}
	}
}

func statesPage() string {
	return `# The states of batches, jobs and files

<!-- Written by ` + "`make generate`" + ` from the tables in domain/batch.go, domain/job.go and domain/file_table.go. -->

Every change of state is a row of one of the three tables below; nothing else is
possible. Each row writes one event; for a batch or a job in one atomic write
together with everything that it does to the live state. Commands that no row allows are refused with the
state and what is possible from there.

## Batches

` + "```mermaid\n" + batchDiagram() + "```\n\n" + batchTable() + `
A pending batch also gets ` + "`batch.listed`" + `, which settles how many jobs it
will have, and any batch that was not deleted gets ` + "`batch.reported`" + ` when a
message about it was delivered or could not be. Neither changes its state.

A batch whose manifest is bad is started without a listing (B3). It has no jobs
and can only be reported as failed.

## Jobs

` + "```mermaid\n" + jobDiagram() + "```\n\n" + jobTable() + `
Which of J16 to J19 a requeue takes follows from ` + "`last_successful_status`" + `
alone. A job that failed before any step succeeded (J5) can only be deleted.
After J20 a job is in no queue any more; its state stays completed.

A job keeps its state when it gets ` + "`job.identified`, `job.waiting` or `job.reprioritised`" + `.

## Files

` + "```mermaid\n" + fileDiagram() + "```\n\n" + fileTable() + `
An attempt counts when it starts; a maximum of 3 means exactly three. It is fenced
by the number of the event that started it, so that a worker which finishes after
its timeout is refused, also when an operator has set the count back. A timeout is
exceeded when the attempt has taken longer than it, by the clock of the log.

F5 or F8 and F7, and F13 or F16 and F15, are written together when the attempts
are used up. F7 and F15 stand alone only after the maximum was lowered.

No worker and no timer touches a file in IGNORE, SKIPPED, PROCESSED or ABANDONED.
`
}
