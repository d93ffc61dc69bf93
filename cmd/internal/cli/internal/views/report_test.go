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
	v := app.BatchReportView{}
	v.BatchID, v.Status, v.RowsListed = "bid0000000001", "failed", new(int64)
	v.ReasonClass, v.ReasonCode, v.ReasonMessage = &class, &code, &why
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
