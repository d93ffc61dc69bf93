package operation

import "github.com/accession-ingest/accession/cmd/internal/app/texts"

// checkTexts returns an error if a text of an input is none: texts are compared with those in
// the tables, or kept for ever.
func checkTexts(in any) error {
	if field, err := texts.Check(in); err != nil {
		return invalid("%s %w", field, err)
	}
	return nil
}
