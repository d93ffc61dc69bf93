package hint

import (
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/container"
)

// TestMend: depositors are told how to mend what is theirs, by its kind; what others must mend, or
// what was requested, is not asked of them.
func TestMend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		class domain.Class
		code  domain.Code
		says  string
	}{
		{domain.ClassContent, domain.CodeDigestMismatch, "compare the file"},
		{domain.ClassContent, fetch.CodeHTTPStatus, "requeued"},
		{domain.ClassContent, fetch.CodeAddressRefused, "may fetch"},
		{domain.ClassContent, domain.CodeManifestInvalid, "manifest check"},
		{domain.ClassContent, domain.CodeRowFault, "manifest check"},
		{domain.ClassContent, container.CodeLink, "make the container again"},
		{domain.ClassContent, container.CodeERC, "make the container again"},
		{domain.ClassContent, "identifier_foreign", "correct the identifier"},
		{domain.ClassContent, "file_too_large", "deposit the object again"},
		{domain.ClassSystem, fetch.CodeHTTPStatus, "an operator"},
		{domain.ClassTimeout, fetch.CodeTimeout, "an operator"},
		{domain.ClassWait, domain.CodeHeldByOperator, "by itself"},
		{domain.ClassCancelled, domain.CodeHeldByOperator, "requested"},
	} {
		if got := Mend(c.class, c.code); !strings.Contains(got, c.says) {
			t.Errorf("%s %s: %q does not say %q", c.class, c.code, got, c.says)
		}
	}
}
