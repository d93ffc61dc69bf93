package domain_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/slot"
)

var update = flag.Bool("update", false, "update the diagrams and docs/states.md")

// TestDrawings compares the diagrams and the page in docs with the tables.
func TestDrawings(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"testdata/batch.mmd": batchDiagram(),
		"testdata/job.mmd":   jobDiagram(),
		"testdata/file.mmd":  fileDiagram(),
		"testdata/slot.mmd":  slotDiagram(),
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
	for _, r := range slot.Transitions {
		if !strings.Contains(slotDiagram(), ": "+r.Row+" "+string(r.Event)+"\n") || !strings.Contains(slotTable(), "| "+r.Row+" |") {
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
	return `# The states of batches, jobs, files and slots

<!-- Written by ` + "`make generate`" + ` from the tables in domain/batch.go, domain/job.go, domain/file.go and domain/slot/slot.go. -->

Every change of state is a row of one of the four tables below; no other change is
possible. Each row writes one event; for a batch or a job, the event and all changes to
the live state are one atomic write. A command that no row allows is refused; the refusal
names the state and what is possible from there.

## Batches

` + "```mermaid\n" + batchDiagram() + "```\n\n" + batchTable() + `
A pending batch also gets ` + "`batch.listed`" + `, which fixes the number of its
jobs, and any batch that is not deleted gets ` + "`batch.reported`" + ` when a
message about it was delivered, or could not be delivered. Neither changes its state.

A batch whose manifest is invalid is started without a listing (B3). It has no jobs
and can only be reported as failed.

## Jobs

` + "```mermaid\n" + jobDiagram() + "```\n\n" + jobTable() + `
` + "`last_successful_status`" + ` alone decides which of J16 to J19 and J25 a requeue
takes. A job whose row or manifest is faulty (J5) can only be deleted.
J24 is allowed while a worker has the job locked: the next write of that worker is
refused, and it ends its step. The provisioning daemon takes it for a job that needs
more working space than there is in all.
After J20 a job is no longer in a queue; its state stays completed.

` + "`job.identified`, `job.waiting` and `job.reprioritised`" + ` do not change the state of a job.

## Files

` + "```mermaid\n" + fileDiagram() + "```\n\n" + fileTable() + `
An attempt is counted when it starts; a maximum of 3 allows exactly three attempts. It
is fenced by the number of the event that started it: a worker that finishes after its
timeout is refused, even if an operator has reset the count. Timeouts are measured by
the clock of the log.

F5 or F8 and F7, and F13 or F16 and F15, are written together when the attempts
are used up. F7 and F15 are written alone only after the maximum was lowered.

No worker or timer changes a file in IGNORE, SKIPPED, PROCESSED or ABANDONED.

## Slots

` + "```mermaid\n" + slotDiagram() + "```\n\n" + slotTable() + `
A slot is a group of a dataset with its time window. The clock of the log says whether the
window has begun or is over. A file of a slot that is PENDING waits in DOWNLOADED; of one
that is DONE or MISSED it is skipped (F9, slot_closed). Files that are READY go on. A slot
that is still PENDING when its window is over, and in which a file has arrived, takes S2 and
S3 in one write.
`
}
