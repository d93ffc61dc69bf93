package app

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/accession-ingest/accession/domain/manifest"
)

// Limits in bytes of what a depositor says: it stands in every event and in every
// job of the batch, which are small.
const (
	maxText  = 4 << 10 // of one text
	maxTexts = 6 << 10 // of all together
)

// textFaults names what is wrong with a deposit's texts, each field once.
func (d Deposit) textFaults(local bool) (faults []string) {
	texts := []struct{ field, text string }{
		{"profile", d.Profile}, {"submitter", d.Submitter}, {"title", d.Title}, {"creator", d.Creator}, {"date", d.Date},
	}
	if !local { // its characters are checked as those of a URL
		texts = append(texts, struct{ field, text string }{"payload's URL", d.Payload})
	} else if name := filepath.Base(d.Payload); strings.Trim(name, "./") != "" { // else a directory, which is found later
		if err := manifest.CheckName(name); err != nil {
			faults = append(faults, err.Error())
		}
	}
	total := 0
	for _, t := range texts {
		total += len(t.text)
		switch {
		case len(t.text) > maxText:
			faults = append(faults, fmt.Sprintf("the %s has %d bytes, more than %d: shorten it", t.field, len(t.text), maxText))
		case t.field == "payload's URL":
		case !utf8.ValidString(t.text):
			faults = append(faults, fmt.Sprintf("the %s is not UTF-8: write it in UTF-8", t.field))
		case strings.ContainsFunc(t.text, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }):
			faults = append(faults, fmt.Sprintf("the %s holds a control character or a line break: remove it", t.field))
		}
	}
	if len(faults) == 0 && total > maxTexts {
		faults = append(faults, fmt.Sprintf("what is said about the deposit has %d bytes, more than %d: shorten the longest", total, maxTexts))
	}
	return faults
}
