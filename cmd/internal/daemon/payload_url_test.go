package daemon

import (
	"net/http"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/projtest"
)

// signedPage serves a text to those who know the token.
func (s *web) signedPage(path, text string) (url string) {
	s.on(path, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "token=SECRET" {
			http.Error(w, "who are you?", http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte(text))
	})
	return s.URL + path + "?token=SECRET"
}

// Rows with a query become jobs with public URLs, the same whoever makes the jobs.
// Shows: P14
func TestRowsHideTheirQueries(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a := w.web.signedPage("/a.txt", "a")
	w.web.serve("/f.checkm", manifestOf("mrt-single-file-batch-manifest", a, w.web.URL+"/b.txt", a))
	id := w.submit(domain.TypeFileBatchManifest, "/f.checkm")
	w.turn(domain.DaemonBatchPending)
	public, err := w.records.KeepURL(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	first := w.batch(id).Listing.FirstJID
	for i, want := range []string{public, w.web.URL + "/b.txt", public} {
		if got := w.job(first.Plus(i)).Configuration.PayloadURL; got != want || strings.Contains(got, "SECRET") {
			t.Errorf("row %d has the URL %s, want %s", i, got, want)
		}
	}
}

// A payload whose whole URL was removed from the records says so.
// Shows: P14
func TestWholeURLIsGone(t *testing.T) {
	t.Parallel()
	pool := projtest.DB(t)
	records := record.New(pool)
	w := newFixture(t, func(w *fixture) { w.cfg.Records = Records{records, records, records, records, records} })
	public, err := records.KeepURL(t.Context(), w.web.signedPage("/tide.csv", "1,2\n"))
	if err != nil {
		t.Fatal(err)
	}
	id := w.jobIn(domain.JobDownloading, domain.TypeFile, "", func(s *domain.Submission) { s.PayloadURL = public })
	if _, err := pool.Exec(t.Context(), "delete from record.payload_url"); err != nil {
		t.Fatal(err)
	}
	w.turn(domain.DaemonJobDownloading)
	j := w.wantJob(id, domain.JobFailed, record.CodeNotFound)
	if j.Reason != nil && (j.Reason.Class != domain.ClassSystem || !strings.Contains(j.Reason.Message, "record.payload_url")) {
		t.Errorf("reason %+v", j.Reason)
	}
}
