// Package intake looks at what a depositor gives before it is submitted.
package intake

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/sniff"
	"github.com/accession-ingest/accession/domain/manifest"
	"github.com/accession-ingest/accession/domain/text"
)

// Limits in bytes of the depositor's texts: every job of the batch and many events
// carry them.
const (
	MaxText  = 4 << 10 // of one text
	maxTexts = 6 << 10 // of all together
	maxKey   = 255     // of an idempotency key
)

// Texts are the texts of a deposit.
type Texts struct {
	Profile, Submitter, Title, Creator, Date, Primary string
	LocalIDs                                          []string
	Payload                                           string // URL, or path of a local file
	Key                                               string // idempotency key
}

// Faults reports what is wrong with the texts, each field once.
func (d Texts) Faults(local bool) (faults []string) {
	texts := []struct{ field, text string }{
		{"profile", d.Profile}, {"submitter", d.Submitter}, {"title", d.Title}, {"creator", d.Creator}, {"date", d.Date}, {"identifier", d.Primary},
	}
	for _, id := range d.LocalIDs {
		texts = append(texts, struct{ field, text string }{"local id", id})
		if id == "" || strings.TrimSpace(id) != id || strings.Contains(id, ";") {
			faults = append(faults, fmt.Sprintf("the local id %q is empty, or has a semicolon or blanks around it", id))
		}
	}
	if !local { // its characters are checked as those of a URL
		texts = append(texts, struct{ field, text string }{"payload's URL", d.Payload})
	} else if name := filepath.Base(d.Payload); strings.Trim(name, "./") != "" { // else it is a directory, which is no payload
		if err := manifest.CheckName(name); err != nil {
			faults = append(faults, err.Error())
		}
	}
	if d.Key != "" && (len(d.Key) > maxKey || !text.Valid(d.Key)) {
		faults = append(faults, fmt.Sprintf("the idempotency key has %d bytes, or is not text: use at most %d bytes of it", len(d.Key), maxKey))
	}
	total := 0
	for _, t := range texts {
		total += len(t.text)
		switch {
		case len(t.text) > MaxText:
			faults = append(faults, fmt.Sprintf("the %s has %d bytes, more than %d: shorten it", t.field, len(t.text), MaxText))
		case t.field == "payload's URL":
		case !text.Valid(t.text):
			faults = append(faults, fmt.Sprintf("the %s %v", t.field, text.Check(t.text)))
		}
	}
	if len(faults) == 0 && total > maxTexts {
		faults = append(faults, fmt.Sprintf("the texts of the deposit have %d bytes together, more than %d: shorten the longest", total, maxTexts))
	}
	return faults
}

// IsMetadata reports whether a local file begins as one of the metadata files that the
// profile takes.
func IsMetadata(path string, p profile.Profile) bool {
	formats := p.Formats()
	if len(formats) == 0 {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false // what is wrong with it comes up when it is stored
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 64<<10))
	return err == nil && sniff.Metadata(head, formats)
}
