package lookup

import (
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/domain/asked"
)

// WithinOf returns where a user finds something who sees so much, nil = everything.
func WithinOf(sees *access.Filter) *asked.Within {
	if sees == nil || sees.All {
		return nil
	}
	return &asked.Within{Collections: sees.Collections, Own: sees.Submitter != ""}
}

// SeesOf returns what may be found for a request, nil = everything.
func SeesOf(r asked.Request) *access.Filter {
	if r.Within == nil {
		return nil
	}
	f := access.Filter{Collections: r.Within.Collections}
	if r.Within.Own {
		f.Submitter = r.Submitter
	}
	return &f
}
