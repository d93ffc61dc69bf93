package export

import (
	"fmt"
	"log"
	"log/slog"
	"strings"

	"github.com/accession-ingest/accession/domain/text"
)

// ForLibraries makes a logger that of the libraries that use package log, such as
// net/http for what a server sent unasked. What they quote is a stranger's, and not
// logged.
func ForLibraries(l *slog.Logger) *slog.Logger {
	log.SetFlags(0)                //nolint:forbidigo // it is where the libraries write
	log.SetOutput(libraryLines{l}) //nolint:forbidigo // the same
	return l
}

// libraryLines logs lines of libraries.
type libraryLines struct{ log *slog.Logger }

// Write implements io.Writer.
func (l libraryLines) Write(line []byte) (int, error) {
	said, quoted, cut := strings.Cut(strings.TrimSpace(string(line)), `"`)
	if cut {
		said = fmt.Sprintf("%s… (%d bytes not shown)", strings.TrimSpace(said), len(quoted))
	}
	l.log.Warn("a library reports", "text", text.Line(said))
	return len(line), nil
}
