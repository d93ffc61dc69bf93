package console

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/internal/testkit/browser"
)

// pictures is a directory in which the pages are kept as they look, "" = none.
var pictures = os.Getenv("ACCESSION_TEST_PICTURES")

// TestPagesInABrowser: every page in both themes and three widths, with ordinary and with hostile
// names: nothing is wider than the page, nothing goes wrong on it, nothing is asked of another
// host, and axe finds nothing.
func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	for kind, name := range map[string]string{"plain": "Letters of 1923", "hostile": `<script>document.title="taken"</script>"'><img src=x onerror="document.title='taken'">` + "\u202Egpj.exe\x07 \x1b[31m" + strings.Repeat("long", 1024)} {
		s := httptest.NewServer(opened(t, &told{answers: some(name)}, access.Operator))
		t.Cleanup(s.Close)
		tab := b.Tab(t)
		for _, path := range pagesOfAll() {
			for _, width := range []int64{360, 1200, 2560} {
				for _, dark := range []bool{false, true} {
					if kind == "hostile" && dark != (width == 1200) {
						continue // both themes have the same measures
					}
					tab.Look(width, dark)
					tab.Open(s.URL + path)
					about := kind + " " + path
					tab.Sound(about, strings.TrimPrefix(s.URL, "http://"))
					if title := browser.Eval[string](tab, "document.title"); !strings.HasSuffix(title, " · Accession") || strings.HasPrefix(title, "taken") {
						t.Errorf("%s: the title is %q", about, title)
					}
					if pictures != "" && (width == 360) == dark {
						file := strings.NewReplacer("/", "_", " ", "").Replace(about) + map[int64]string{360: "-360", 1200: "-1200", 2560: "-2560"}[width] + ".png"
						if err := os.WriteFile(filepath.Join(pictures, file), tab.Picture(), 0o600); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		}
	}
}
