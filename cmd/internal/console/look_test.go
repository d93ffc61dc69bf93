package console

import (
	"fmt"
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
// host, and axe finds nothing. A page is loaded once for all its looks, and several are looked at
// at once.
func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	for kind, name := range map[string]string{"plain": "Letters of 1923", "hostile": `<script>document.title="taken"</script>"'><img src=x onerror="document.title='taken'">` + "\u202Egpj.exe\x07 \x1b[31m" + strings.Repeat("long", 1024)} {
		pages := make(chan string, len(pagesOfAll()))
		for _, path := range pagesOfAll() {
			pages <- path
		}
		close(pages)
		for tab := range 2 {
			t.Run(fmt.Sprint(kind, tab), func(t *testing.T) {
				t.Parallel()
				s := httptest.NewServer(opened(t, &told{answers: some(name)}, access.Operator))
				t.Cleanup(s.Close)
				tab := b.Tab(t)
				for path := range pages {
					looked(t, tab, s.URL, path, kind)
				}
			})
		}
	}
}

// looked loads a page, and looks at it in every width and theme.
func looked(t *testing.T, tab *browser.Tab, at, path, kind string) {
	tab.Open(at + path)
	for _, width := range []int64{360, 1200, 2560} {
		for _, dark := range []bool{false, true} {
			if kind == "hostile" && dark != (width == 1200) {
				continue // both themes have the same measures
			}
			tab.Look(width, dark)
			about := fmt.Sprintf("%s %s %d dark=%t", kind, path, width, dark)
			tab.Sound(about, strings.TrimPrefix(at, "http://"))
			if title := browser.Eval[string](tab, "document.title"); !strings.HasSuffix(title, " · Accession") || strings.HasPrefix(title, "taken") {
				t.Errorf("%s: the title is %q", about, title)
			}
			if pictures != "" && (width == 360) == dark {
				file := strings.NewReplacer("/", "_", " ", "").Replace(kind+" "+path) + fmt.Sprintf("-%d.png", width)
				if err := os.WriteFile(filepath.Join(pictures, file), tab.Picture(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
