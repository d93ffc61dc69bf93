package reason

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		class domain.Class
		code  domain.Code
	}{
		"content":     {fmt.Errorf("a.txt: %w", Content(CodeSizeMismatch, "%d bytes", 3)), domain.ClassContent, CodeSizeMismatch},
		"system":      {System(CodeStorage, "gone"), domain.ClassSystem, CodeStorage},
		"the client":  {&fetch.Error{Code: fetch.CodeTooSlow, Class: domain.ClassTimeout}, domain.ClassTimeout, fetch.CodeTooSlow},
		"the records": {&record.Error{Code: record.CodeIdentifierMismatch}, domain.ClassContent, record.CodeIdentifierMismatch},
		"the store":   {&store.Error{Code: store.CodeConflict}, domain.ClassSystem, CodeStorage},
		"a full disk": {&store.Error{Code: store.CodeDiskFull}, domain.ClassSystem, domain.CodeSpaceShort},
		"a deadline":  {fmt.Errorf("ask: %w", context.DeadlineExceeded), domain.ClassTimeout, "timeout"},
		"any other":   {errors.New("odd"), domain.ClassSystem, CodeInternal},
	} {
		r := Of(c.err, "do it")
		said := c.err.Error()
		if st := (*store.Error)(nil); errors.As(c.err, &st) {
			said = st.Public()
		}
		if r.Class != c.class || r.Code != c.code || r.Message != "do it: "+said {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestFullDiskInWords: who reads the mail knows what happened without a list of codes.
func TestFullDiskInWords(t *testing.T) {
	t.Parallel()
	r := Of(&store.Error{Code: store.CodeDiskFull, Op: "write"}, "keep the files")
	if want := "keep the files: our storage could not write: no space left on device ("; !strings.HasPrefix(r.Message, want) {
		t.Errorf("a full disk is told as %q", r.Message)
	}
}

// TestNoPlaceIsTold: a reason is read by depositors; where our directories are stays in
// the log.
// Shows: P14
func TestNoPlaceIsTold(t *testing.T) {
	t.Parallel()
	path := &fs.PathError{Op: "write", Path: "/srv/private/staging/a", Err: syscall.ENOSPC}
	for _, err := range []error{
		fmt.Errorf("data/a.csv: %w", &store.Error{Code: store.CodeDiskFull, Op: "put", Key: "/srv/private/staging/a", Err: path}),
		fmt.Errorf("data/a.csv: %w", path),
		fmt.Errorf("data/a.csv: %w", &os.LinkError{Op: "link", Old: "/srv/private/a", New: "/srv/private/b", Err: syscall.EIO}),
	} {
		if r := Of(err, "store it"); strings.Contains(r.Message, "private") || !strings.HasPrefix(r.Message, "store it: data/a.csv: ") {
			t.Errorf("%v is told as %q", err, r.Message)
		}
	}
}

func TestFault(t *testing.T) {
	t.Parallel()
	if _, _, temporary, known := Fault(&record.Error{Code: record.CodeUnavailable}); !known || !temporary {
		t.Error("PostgreSQL that cannot be reached may answer a moment later")
	}
	if _, _, _, known := Fault(errors.New("odd")); known {
		t.Error("an error that says nothing is known")
	}
}

func TestBounded(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "short", strings.Repeat("é", maxMessage)} {
		got := Bounded(s)
		if len(got) > maxMessage || !utf8.ValidString(got) || len(s) <= maxMessage && got != s {
			t.Errorf("%d bytes become %d: %.20s", len(s), len(got), got)
		}
	}
}
