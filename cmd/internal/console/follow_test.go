package console

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/accession-ingest/accession/domain/access"
)

// TestWhatPagesFollow: each page says which events change it, and whether it changes without one;
// what cannot change says neither.
func TestWhatPagesFollow(t *testing.T) {
	t.Parallel()
	h := opened(t, &told{answers: some("name")}, access.Admin)
	main := regexp.MustCompile(`<main id="main" tabindex="-1"(?: data-follow="([^"]*)")?(?: data-again="(\d+)")?>`)
	for path, want := range map[string][2]string{
		"people": {"", "5"}, "people/ana": {"", "5"}, "keys": {"", "5"}, "audit": {"", "5"}, "withdrawals": {"", "5"}, "objects/ark:%2F1%2Fx": {"", "5"}, "objects/ark:%2F1%2Fx/versions/2": {"", ""},
		"objects": {"kind=job", "5"}, "deposits": {"kind=batch,setting", "5"}, "poison": {"kind=batch,job,file", "5"}, "bulk": {"kind=batch,job,file", "5"}, "directories": {"kind=setting,file", "5"}, "workers": {"kind=entry", "5"},
		"batches": {"kind=batch,job,file", ""}, "profiles": {"kind=setting", ""}, "jobs/jid0000000001": {"job=jid0000000001", ""}, "more": {"", ""}, "new": {"", ""},
	} {
		w := visited(h, http.MethodGet, Path+path, nil)
		is := main.FindStringSubmatch(w.Body.String())
		if w.Code != http.StatusOK || is == nil || is[1] != want[0] || is[2] != want[1] {
			t.Errorf("%s: %d, follows %q, want %q", path, w.Code, is, want)
		}
	}
}
