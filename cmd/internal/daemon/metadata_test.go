package daemon

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
)

// takesRecords lets the profile take metadata files.
func takesRecords(w *fixture) {
	p := w.set[tides]
	p.Metadata = []profile.Metadata{{Root: "records", Record: "record", Identifier: "id"}}
	w.set[tides] = p
}

// What is stored is the file that was checked, also when its server sends another one
// meanwhile.
func TestMetadataIsStoredAsChecked(t *testing.T) {
	t.Parallel()
	w := newFixture(t, takesRecords)
	n := 0
	w.web.on("/r.xml", func(rw http.ResponseWriter, _ *http.Request) {
		n++
		_, _ = fmt.Fprintf(rw, "<records><record><id>%d</id></record><record/></records>", n)
	})
	id := w.submit(domain.TypeMetadata, "/r.xml")
	w.turn(domain.DaemonBatchPending)
	b := w.batch(id)
	if b.State != domain.BatchProcessing || b.Listing == nil || b.Listing.Rows != 1 || !strings.HasSuffix(b.Listing.ManifestURL, ".xml") {
		t.Fatalf("%+v %+v\n%s", b, b.Listing, w.log)
	}
	if c := w.job(b.Listing.FirstJID).Configuration; c.PayloadType != domain.TypeFile || c.PayloadURL != b.Listing.ManifestURL || c.DigestValue != b.Listing.ManifestSHA256 || c.FileName != "r.xml" {
		t.Errorf("%+v", c)
	}
	w.walk(upTo(domain.JobCompleted)...)
	w.turn(domain.DaemonBatchReporting)
	if r := w.report(id); w.batch(id).State != domain.BatchCompleted || r.MetadataRecords == nil || r.MetadataRecords.Success != 1 || r.MetadataRecords.Failure != 1 || len(r.MetadataRecords.Worst) != 2 {
		t.Errorf("%+v %+v", w.batch(id), r.MetadataRecords)
	}
	if n != 1 {
		t.Errorf("%d requests", n)
	}
	for _, e := range w.recorded(id.Aggregate()) {
		if d, ok := e.Data.(*domain.BatchListed); ok && (d.MetadataRecords == nil || d.MetadataRecords.Failure != 1 || !strings.HasPrefix(d.MetadataRecords.URL, "store:///records/") || len(d.MetadataRecords.SHA256) != 64) {
			t.Errorf("%+v", d.MetadataRecords)
		}
	}
}

// Metadata that cannot be taken makes no job: the profile takes none, the file is broken,
// or it is not the one that the depositor describes.
func TestBadMetadata(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		page   string
		change func(*fixture)
		digest string
		code   domain.Code
		says   string
	}{
		"none taken":   {"<records><record/></records>", noRecords, "", domain.CodeManifestInvalid, "takes no metadata files"},
		"broken":       {"<records>\n<record>", takesRecords, "", domain.CodeManifestInvalid, "line 2: the file ends within <record>"},
		"wrong digest": {"<records><record/></records>", takesRecords, hexOf("other"), domain.CodeDigestMismatch, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, noRecords, c.change)
			w.web.serve("/r.xml", c.page)
			id := w.submit(domain.TypeMetadata, "/r.xml", func(s *domain.Submission) {
				if c.digest != "" {
					s.DigestAlgorithm, s.DigestValue = "sha256", c.digest
				}
			})
			w.turn(domain.DaemonBatchPending)
			if b := w.batch(id); b.State != domain.BatchReporting || b.Listing != nil || b.Reason == nil || b.Reason.Code != c.code || !strings.Contains(b.Reason.Message, c.says) {
				t.Fatalf("%+v %+v\n%s", b, b.Reason, w.log)
			}
			w.turn(domain.DaemonBatchReporting)
			if r := w.report(id); w.batch(id).State != domain.BatchFailed || r.MetadataRecords != nil || r.Problem == nil {
				t.Errorf("%+v", r)
			}
		})
	}
}
