package export

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestLibrariesLogNoQuotes: net/http logs what a server sent that was not asked for.
func TestLibrariesLogNoQuotes(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	_, err := libraryLines{slog.New(slog.NewJSONHandler(NewEscaping(&b), nil))}.Write(
		[]byte("Unsolicited response received on idle HTTP channel starting with \"s3cret\\x1b\"; err=<nil>\n"))
	if s := b.String(); err != nil || strings.Contains(s, "s3cret") || !strings.Contains(s, "Unsolicited response") {
		t.Errorf("%q (%v)", s, err)
	}
}
