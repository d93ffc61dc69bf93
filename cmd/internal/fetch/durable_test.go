package fetch

import (
	"io"
	"net/http"
	"os"
	"testing"

	"github.com/accession-ingest/accession/internal/testkit/synced"
)

// TestDownloadIsDurable: a downloaded file outlasts a power cut.
// Shows: P1
func TestDownloadIsDurable(t *testing.T) {
	t.Parallel()
	synced.Run(t, func(dir string) {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "low and high water") })
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = root.Close() }()
		if _, err := local(t, quick()).Download(t.Context(), s.URL, Target{Dir: root, Name: "data/2020/tide.csv", Size: -1}); err != nil {
			t.Fatal(err)
		}
	})
}
