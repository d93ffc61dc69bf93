//go:build !race

// What is measured here has tens of thousands of events; the race detector, which
// finds no more in them than in a few, would make it slow.

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// manyFiles serves /object.checkm, an object of n small files.
func manyFiles(n int) http.Handler {
	mux := http.NewServeMux()
	content := func(i string) []byte { return []byte("the content of file " + i + "\n") }
	mux.HandleFunc("/object.checkm", func(w http.ResponseWriter, r *http.Request) {
		var b strings.Builder
		b.WriteString("#%checkm_0.7\n#%profile | http://uc3.cdlib.org/registry/ingest/manifest/mrt-ingest-manifest\n")
		b.WriteString("#%prefix | mrt: | http://merritt.cdlib.org/terms#\n#%prefix | nfo: | http://www.semanticdesktop.org/ontologies/2007/03/22/nfo#\n")
		b.WriteString("#%fields | nfo:fileUrl | nfo:hashAlgorithm | nfo:hashValue | nfo:fileSize | nfo:fileLastModified | nfo:fileName | mrt:mimeType\n")
		for i := range n {
			text := content(fmt.Sprint(i))
			sum := sha256.Sum256(text)
			fmt.Fprintf(&b, "http://%s/file/%d | sha-256 | %s | %d |  | part-%d/file-%d.txt | text/plain\n", r.Host, i, hex.EncodeToString(sum[:]), len(text), i/1000, i)
		}
		b.WriteString("#%eof\n")
		_, _ = w.Write([]byte(b.String()))
	})
	mux.HandleFunc("GET /file/{n}", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(content(r.PathValue("n"))) })
	return mux
}

// A job of ten thousand files goes all the way through, and its files are counted
// by number and bytes.
func TestJobOfTenThousandFiles(t *testing.T) {
	t.Parallel()
	newInstallation(t).jobOfFiles(10_000)
}

// jobOfFiles lets a job of so many files go all the way through.
func (in *installation) jobOfFiles(files int) {
	t := in.t
	t.Helper()
	in.serveInProcess()
	base := webServer(t, manyFiles(files))
	id := in.submit(app.Deposit{Payload: base + "/object.checkm", Type: domain.TypeObjectManifest, Title: "many files"})
	end, err := in.app.Watch(t.Context(), id, 0, func(app.Event, app.Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	v := in.rest(id)
	if v.Status != "completed" || len(v.Jobs) != 1 {
		t.Fatalf("%+v", v)
	}
	job, err := in.app.Job(in.ctx(), domain.JobID(v.Jobs[0].ID))
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range job.Transitions {
		if tr.Seconds != nil {
			t.Logf("%-13s %7.2f s", tr.FromStatus, *tr.Seconds)
		}
	}
	if f, c := end.Files, job.FileCounts; f.Listed != files || f.Downloaded != files || f.Processed != files || f.BytesListed != c.BytesListed ||
		f.BytesDownloaded != c.BytesDownloaded || f.BytesProcessed != c.BytesListed || f.GivenUp+f.Skipped != 0 {
		t.Errorf("the watch says %+v, the tables %+v", f, c)
	}
	if c := job.FileCounts; c.FilesListed != int64(files) || c.FilesProcessed != int64(files) || c.BytesListed == 0 || c.BytesDownloaded != c.BytesListed {
		t.Errorf("%+v", c)
	}
}
