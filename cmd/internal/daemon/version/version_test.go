package version

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// TestDeletionList: each line names a file, in whatever Unicode form; a list that is too large is
// the depositor's to divide, and is not read.
func TestDeletionList(t *testing.T) {
	t.Parallel()
	list := store.File{Name: deletionList, Size: 20, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("a.txt\r\n\n e\u0301.txt\nb/c.txt")), nil
	}}
	if names, err := deletions(list); err != nil || !slices.Equal(names, []string{"a.txt", "\u00e9.txt", "b/c.txt"}) {
		t.Errorf("%q, %v", names, err)
	}
	list.Size = maxDeletions + 1
	list.Open = func() (io.ReadCloser, error) { t.Error("it is read"); return nil, io.ErrUnexpectedEOF }
	var why *reason.Problem
	if _, err := deletions(list); !errors.As(err, &why) || why.Code != reason.CodeFileTooLarge || why.Class != domain.ClassContent {
		t.Errorf("%v", err)
	}
}
