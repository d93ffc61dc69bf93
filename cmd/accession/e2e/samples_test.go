package e2e

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// TestSamplesAreDeposited deposits the samples of docs/depositing.md as they stand there: the batch
// of objects, at the addresses of a server here, and a container with the citation.
func TestSamplesAreDeposited(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	page, err := os.ReadFile("../../../docs/depositing.md")
	in.must(err)
	batch := between(t, string(page), "names and describes them:\n\n```\n", "```")
	citation := between(t, string(page), "a colon and a value:\n\n```\n", "```")
	base := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		here := "http://" + r.Host
		switch r.URL.Path {
		case "/batch.checkm":
			_, _ = w.Write([]byte(strings.ReplaceAll(batch, "https://example.org", here)))
		case "/north.checkm", "/south.checkm":
			_, _ = w.Write(checkm("mrt-ingest-manifest", "", here+"/a | | | | | a.txt"))
		case "/tides.zip":
			_, _ = w.Write(zipOf(t, map[string]string{"mrt-erc.txt": citation, "tides.csv": "1,2\n"}))
		default:
			_, _ = w.Write([]byte("a\n"))
		}
	}))
	in.serveInProcess()
	ids := []domain.BatchID{in.submit(app.Deposit{Payload: base + "/batch.checkm", Type: domain.TypeBatchManifest}),
		in.submit(app.Deposit{Payload: base + "/tides.zip", Type: domain.TypeContainer})}
	for _, id := range ids {
		if v := in.rest(id); v.Status != string(domain.BatchCompleted) {
			t.Errorf("%s: %s: %+v", id, v.Status, v.Jobs)
		}
	}
	got := map[string][]string{}
	rows, err := in.db.Query(in.ctx(), `select o.erc_what, case when j.identifier_minted then 'a new one' else o.primary_identifier end, o.erc_who, o.erc_when, array_to_string(o.local_id, '; ')
		from record.object o join accession.job j using (primary_identifier)`)
	in.must(err)
	for rows.Next() {
		var what, primary, who, when, local string
		in.must(rows.Scan(&what, &primary, &who, &when, &local))
		got[what] = []string{primary, who, when, local}
	}
	in.must(rows.Err())
	if diff := cmp.Diff(map[string][]string{
		"The north of the harbour": {"a new one", "Harbour Office", "1923", "chart-north; shelf-8"},
		"The south of the harbour": {"ark:/99999/fk4k97rb9p", "Harbour Office", "", "chart-south"},
		"Tide tables":              {"ark:/99999/fk4k97rb8n", "Harbour Office", "1923", "tides-1923; shelf-7"},
	}, got); diff != "" {
		t.Errorf("the objects of the samples (-want +got):\n%s", diff)
	}
}
