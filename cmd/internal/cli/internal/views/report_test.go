package views

import (
	"bytes"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// A batch that can have no job adds up, and says why in place of failed attempts.
func TestReportOfABatchWithoutJobs(t *testing.T) {
	t.Parallel()
	class, code, why := "content", "manifest_invalid", "line 3: the row is short"
	v := app.BatchReportView{BatchSummary: app.BatchSummary{BatchID: "bid0000000001", Status: "failed", RowsListed: new(int64),
		ReasonClass: &class, ReasonCode: &code, ReasonMessage: &why}}
	var out bytes.Buffer
	Report(&out, v)
	for _, want := range []string{"0 listed = 0 completed + 0 failed", "\nno job was created: manifest_invalid: line 3: the row is short\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report does not say %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "no attempt has failed") {
		t.Errorf("nothing failed, it says:\n%s", out.String())
	}
}
