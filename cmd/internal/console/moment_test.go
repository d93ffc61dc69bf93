package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain/access"
)

// TestMomentIsKept: from a page as of a moment the ways to batches, jobs, files and the overview lead
// to that moment, and all others to what is now, as all ways from a page of now do.
func TestMomentIsKept(t *testing.T) {
	t.Parallel()
	h := opened(t, &told{answers: some("a name")}, access.Admin)
	file := "files/" + strings.Repeat("ab", 32)
	for page, wants := range map[string][]string{
		"": {""}, "batches/bid0000000001": {"", "jobs/jid0000000001"}, "jobs/jid0000000001": {"", "batches/bid0000000001", file}, file: {"", "batches/bid0000000001", "jobs/jid0000000001"},
	} {
		for _, at := range []string{"", "7", "2026-11-28"} {
			moment := ""
			if at != "" {
				moment = "7" // as the answers have it
			}
			var kept []string
			text := visited(h, http.MethodGet, Path+page+"?at="+at, nil).Body.String()
			_, text, _ = strings.Cut(text, `<nav aria-label="Pages">`)
			for _, to := range linksOf(t, text) {
				u, err := url.Parse(to)
				if err != nil {
					t.Fatal(err)
				}
				thing, is := strings.CutPrefix(u.Path, Path)
				if !is || thing == page && page != "" || thing == page && len(u.Query()) > 1 {
					continue // it is another host's, or an order of the page itself
				}
				_, id, _ := strings.Cut(thing, "/")
				has := thing == "" || slices.Contains([]string{"batches/" + id, "jobs/" + id, "files/" + id}, thing) && id != "" && !strings.Contains(id, "/")
				if has && !slices.Contains(kept, thing) {
					kept = append(kept, thing)
				}
				if got := u.Query().Get("at"); has && got != moment || !has && got != "" {
					t.Errorf("%s as of %q leads to %s", page, at, to)
				}
			}
			for _, want := range wants {
				if !slices.Contains(kept, want) {
					t.Errorf("%s as of %q does not lead to %s, only to %v", page, at, want, kept)
				}
			}
		}
	}
}
