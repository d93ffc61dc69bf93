package run_test

import (
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/proof"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/eventstore"
)

// The comparison on which the other tests rely must see what is wrong.
func TestCompareSeesDifferences(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := depositor(t, samples.Handler())
	stop := w.serve()
	id := w.submit(app.Deposit{Payload: base + samples.SingleFile})
	job := w.rest(id).Jobs[0].ID
	w.agree()
	stop()
	live, _ := w.wired.Live(w.ctx())
	log, _ := w.wired.Log(w.ctx())
	db, err := w.wired.DB(w.ctx())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, breaks, mends, sees string }{
		{"a job's status", "update accession.job set status = 'failed'", "update accession.job set status = 'completed'",
			"job/" + job + ": postgres has"},
		{"a batch that is gone", "update accession.batch set version = 0", "update accession.batch set version = " +
			"(select max(version) from accession.event where kind = 'batch')", "batch/" + string(id) + ": postgres has nothing"},
		{"a counter", "update accession.batch set jobs_completed = 0, jobs_processing = 1", "update accession.batch set jobs_completed = 1, jobs_processing = 0",
			"batches whose counters differ"},
		{"a file's status", "update accession.file set worker = 'x'", "update accession.file set worker = ''", "file/"},
		{"a file's counter", "update accession.file_count set files_skipped = 1, files_listed = files_listed + 1",
			"update accession.file_count set files_skipped = 0, files_listed = files_listed - 1", "whose counters differ from their files"},
		{"a job too many", "insert into accession.job select (jsonb_populate_record(j, '{\"id\": \"jid9999999999\"}')).* from accession.job j", "delete from accession.job where id = 'jid9999999999'",
			"rows of accession.job: postgres has 2, the log says 1"},
	} {
		if _, err := db.Exec(w.ctx(), c.breaks); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := differences(t, w, live, log); !strings.Contains(got, c.sees) {
			t.Errorf("%s was not seen: want %q in\n%s", c.name, c.sees, got)
		}
		if _, err := db.Exec(w.ctx(), c.mends); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
	}
	if got := differences(t, w, live, log); got != "" {
		t.Errorf("all is mended, yet:\n%s", got)
	}
	// Nobody carries this one to the log.
	ahead := w.submit(app.Deposit{Payload: base + samples.SingleFile})
	if got := differences(t, w, live, log); !strings.Contains(got, "batch/"+string(ahead)+": zookeeper has it, the log says nothing") {
		t.Errorf("a batch that only ZooKeeper knows was not seen:\n%s", got)
	}
}

func differences(t *testing.T, w *world, live proof.Live, log eventstore.Log) string {
	t.Helper()
	db, err := w.wired.DB(w.ctx())
	if err != nil {
		t.Fatal(err)
	}
	found, err := proof.Compare(w.ctx(), live, log, db)
	if err != nil {
		t.Fatal(err)
	}
	lines := make([]string, len(found))
	for i, d := range found {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}
