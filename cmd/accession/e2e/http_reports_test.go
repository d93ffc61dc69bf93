package e2e

import (
	"net/http"
	"slices"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// TestReportsNeedARightInAllCollections: a report counts over all collections, also that of
// collections by state and that of what was stored; who may see one collection is refused all
// of them, and is not told which there are.
func TestReportsNeedARightInAllCollections(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	d := in.door()
	names := []string{"nothing"}
	for _, kind := range app.ReportKinds() {
		names = append(names, kind.Name)
	}
	if len(names) < 10 {
		t.Errorf("only the reports %v", names)
	}
	for _, name := range names {
		for _, caller := range []string{"olga operator/test", "rita reader/test", "ana depositor/test", "ana depositor/*", "olga operator/test reader/other"} {
			for _, choice := range []string{"", "?format=csv"} {
				d.ask(caller, "GET", "/v1/reports/"+name+choice, "").is(d, http.StatusForbidden, app.Forbidden)
			}
			// Some count as of a moment what the caller sees; the log has no such sequence.
			then := d.ask(caller, "GET", "/v1/reports/"+name+"?at=1000000", "")
			if slices.Contains(app.SeenThen, name) {
				then.is(d, http.StatusNotFound, app.NotFound)
			} else {
				then.is(d, http.StatusForbidden, app.Forbidden)
			}
			d.ask(caller, "GET", "/v1/reports/"+name+"?batch=bid0000009999", "").is(d, http.StatusNotFound, app.NotFound)
		}
		for _, caller := range []string{"olga operator/*", "rita reader/*"} {
			a := d.ask(caller, "GET", "/v1/reports/"+name, "")
			if a.status == http.StatusForbidden || name == "collections" && a.status != http.StatusOK || name == "ingest" && a.status != http.StatusOK {
				t.Errorf("%s, %s: %d %s", caller, name, a.status, a.body)
			}
		}
	}
}
