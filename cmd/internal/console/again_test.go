package console

import (
	"net/http"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain/access"
)

// TestDepositedAgain: the page of a batch that has failed leads who may deposit to the form, as the
// batch was described; nothing else of the form is in an address.
func TestDepositedAgain(t *testing.T) {
	t.Parallel()
	for role, leads := range map[access.Role]bool{access.Depositor: true, access.Reader: false} {
		answers := some("Letters")
		batch := answers["/v1/batches/bid0000000001"].(map[string]any)
		batch["type"] = "container"
		a := &told{answers: answers}
		h := opened(t, a, role)
		const to = `href="/console/new?profile=test&amp;title=Letters&amp;type=container"`
		if text := visited(h, http.MethodGet, Path+"batches/bid0000000001", nil).Body.String(); strings.Contains(text, to) != leads {
			t.Errorf("the page leads a %s to the form: %t", role, !leads)
		}
		batch["status"] = "completed"
		if text := visited(h, http.MethodGet, Path+"batches/bid0000000001", nil).Body.String(); strings.Contains(text, "/console/new?") {
			t.Errorf("the page of a batch that has not failed leads a %s to the form", role)
		}
	}
	h := opened(t, &told{answers: some("a name")}, access.Depositor)
	text := visited(h, http.MethodGet, Path+"new?profile=test&type=container&title=Letters&identifier=ark:/1/x&url=https://other.example.org/&key=mine", nil).Body.String()
	for _, want := range []string{"<option selected>test</option>", `<option value="container" selected>`, `name="title" value="Letters"`, `name="identifier" value="ark:/1/x"`, `name="url" type="url" value=""`} {
		if !strings.Contains(text, want) {
			t.Errorf("the form does not have %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, `value="mine"`) {
		t.Error("the key of a form is that of an address")
	}
}
