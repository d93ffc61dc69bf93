package reason

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
		if r.Class != c.class || r.Code != c.code || r.Message != "do it: "+c.err.Error() {
			t.Errorf("%s: %+v", name, r)
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
