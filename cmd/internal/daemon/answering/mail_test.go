package answering

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/notify"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/lookup"
)

// A report is attached in its format; one that is too large is named with the command that
// shows it, and a query that failed is mailed with the reason.
func TestLetters(t *testing.T) {
	t.Parallel()
	id := domain.NewQueryID(3)
	answered := lookup.Query{ID: id, Request: asked.Request{FileName: "shelf.txt", Lines: 3, Format: asked.FormatCSV}, Answer: &asked.Answer{Found: 2, Wrong: 1}}
	for _, c := range []struct {
		size     int
		attached bool
		says     string
	}{
		{0, true, "attached as qid0000000003.csv"},
		{notify.MaxAttachments, true, "attached as qid0000000003.csv"},
		{notify.MaxAttachments + 1, false, "accession query report qid0000000003 --format csv"},
	} {
		m := Mailing{From: "accession@example.org", Report: func(_ context.Context, to io.Writer, _ lookup.Query) error {
			_, err := io.Copy(to, bytes.NewReader(make([]byte, c.size)))
			return err
		}}
		letter, err := m.letter(t.Context(), answered)
		if err != nil || (len(letter.Files) > 0) != c.attached || !strings.Contains(letter.Text, c.says) || !strings.Contains(letter.Text, "3 lines = 2 found + 0 not found + 1 wrong") {
			t.Errorf("%d bytes: %q, %v", c.size, letter.Text, err)
		}
		if c.attached && (len(letter.Files[0].Data) != c.size || letter.Files[0].Type != "text/csv") {
			t.Errorf("attached are %d bytes of %d, %s", len(letter.Files[0].Data), c.size, letter.Files[0].Type)
		}
	}
	failed := lookup.Query{ID: id, Reason: &domain.Reason{Class: domain.ClassSystem, Code: domain.CodeDigestMismatch, Message: "the list is lost"}}
	letter, err := Mailing{}.letter(t.Context(), failed)
	if err != nil || letter.Files != nil || !strings.Contains(letter.Subject, "could not be answered") || !strings.Contains(letter.Text, "the list is lost") {
		t.Errorf("%+v, %v", letter, err)
	}
}
