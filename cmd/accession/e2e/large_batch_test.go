//go:build !race

package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// faultyRows are rows that cannot be made into a deposit, each with its own fault.
var faultyRows = []string{
	"gopher://%[1]s/x | | | | | one.bin",
	"http://%[1]s/x | rot13 | 00 | | | two.bin",
	"http://%[1]s/x | md5 | 00 | | | three.bin",
	"http://%[1]s/x | | | many | | four.bin",
	"http://%[1]s/x | | | | | ../five.bin",
}

// manifestOfRows serves /batch.checkm, a manifest of n rows under a checkm profile, some
// of them faulty, and the same object manifest under any other address.
func manifestOfRows(n int, profile string) http.Handler {
	mux := http.NewServeMux()
	head := "#%checkm_0.7\n#%profile | http://uc3.cdlib.org/registry/ingest/manifest/"
	mux.HandleFunc("/batch.checkm", func(w http.ResponseWriter, r *http.Request) {
		var b strings.Builder
		b.WriteString(head + profile + "\n")
		for i := range n - len(faultyRows) {
			if i%20 == 10 && i/20 < len(faultyRows) {
				fmt.Fprintf(&b, faultyRows[i/20]+"\n", r.Host)
			}
			fmt.Fprintf(&b, "http://%s/object/%d | | | | | object-%d.bin | | local-%d | Somebody | Title %d | 2026\n", r.Host, i, i, i, i)
		}
		b.WriteString("#%eof\n")
		_, _ = w.Write([]byte(b.String()))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%smrt-ingest-manifest\nhttp://%s/file | | | | | file.txt\n#%%eof\n", head, r.Host)
	})
	return mux
}

// TestBatchOfTenThousandRows: a batch of ten thousand rows becomes ten thousand jobs, whose making
// is interrupted by a restart; faulty rows become jobs that fail, and the mail says how many there
// are. Each run takes one of the kinds of batches.
func TestBatchOfTenThousandRows(t *testing.T) {
	t.Parallel()
	const rows = 10_000
	profiles := map[domain.SubmissionType]string{
		domain.TypeBatchManifest: "mrt-batch-manifest", domain.TypeContainerBatchManifest: "mrt-container-batch-manifest",
		domain.TypeFileBatchManifest: "mrt-single-file-batch-manifest",
	}
	for _, kind := range thirdOf(t, slices.Sorted(maps.Keys(profiles))) {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			in := newInstallation(t, "stop_grace=100ms")
			in.tell("queued")
			base := webServer(t, manifestOfRows(rows, profiles[kind]))
			in.says(0, words("queue pause pending estimating --yes"), "paused")
			stop := in.serveInProcess().stop
			id := in.submit(app.Deposit{Payload: base + "/batch.checkm", Type: kind})
			submitted := in.seen(1, domain.EventBatchSubmitted)[0]
			in.seen(1, domain.EventJobCreated)
			stop()
			in.serveInProcess()
			started := in.seen(1, domain.EventBatchStarted)[0]
			t.Logf("%d jobs %.2f s after the deposit, the restart included", rows, started.Time.Sub(submitted.Time.Time).Seconds())
			in.says(0, words("queue resume pending --yes"))
			in.seen(len(faultyRows), domain.EventJobFailed)
			in.says(0, words("queue pause pending --yes")) // the good ones all go the same way
			in.shown()

			db, err := in.wired.DB(in.ctx())
			if err != nil {
				t.Fatal(err)
			}
			var jobs, distinct, contiguous, faults, named int
			if err := db.QueryRow(in.ctx(), `select count(*), count(distinct manifest_row), max(manifest_row) - min(manifest_row) + 1,
				count(*) filter (where status = 'failed' and reason_code = 'row_fault'), count(*) filter (where erc_what = 'Title ' || (substring(file_name from '[0-9]+')))
				from accession.job where batch_id = $1`, string(id)).Scan(&jobs, &distinct, &contiguous, &faults, &named); err != nil {
				t.Fatal(err)
			}
			if jobs != rows || distinct != rows || contiguous != rows || faults != len(faultyRows) || named != rows-len(faultyRows) {
				t.Errorf("%d jobs, of %d rows of %d, %d of them faulty, %d named as their rows", jobs, distinct, contiguous, faults, named)
			}
			v, err := in.app.Batch(in.ctx(), id, 1)
			if err != nil || *v.RowsListed != rows || v.JobsFailed != int64(len(faultyRows)) || v.JobsInProgress != int64(rows-len(faultyRows)) {
				t.Errorf("%v: it does not add up: %+v", err, v.BatchSummary)
			}
			if texts := in.mails(id); len(texts) != 1 || !strings.Contains(texts[0], fmt.Sprintf("It lists %d object(s)", rows)) {
				t.Errorf("mails: %q", texts)
			}
		})
	}
}
