package payload

import (
	"cmp"
	"encoding/json"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
)

// ModeUpdate is the submission mode in which a version starts from the one before.
const ModeUpdate = "update"

// FillJob sets the fields of a command from the row of a batch manifest. A row of an update
// names its object; a container may do it in its citation.
func FillJob(cmd *domain.CreateJob, r manifest.Row) {
	c := &cmd.Configuration
	c.PayloadURL, c.FileName, c.Size = r.FileURL, r.FileName, max(r.Size, 0)
	c.DigestAlgorithm, c.DigestValue, c.FileModified = string(r.HashAlgorithm), r.HashValue, domain.At(r.Modified())
	cmd.Identifiers.Primary = r.PrimaryIdentifier
	if r.LocalIdentifiers != nil {
		cmd.Identifiers.LocalID = r.LocalIdentifiers
	}
	m := &cmd.Metadata
	m.ErcWho, m.ErcWhat, m.ErcWhen = cmp.Or(r.Creator, m.ErcWho), cmp.Or(r.Title, m.ErcWhat), cmp.Or(r.Date, m.ErcWhen)
	fault, named := r.Fault, r.PrimaryIdentifier != "" || r.LocalIdentifiers != nil
	if fault == nil && !named && c.SubmissionMode == ModeUpdate && c.PayloadType != domain.TypeContainer {
		fault = &manifest.Error{Line: r.Line, Message: manifest.UnnamedRow}
	}
	if fault != nil {
		c.RowFault = &domain.Reason{Class: domain.ClassContent, Code: domain.CodeRowFault, Message: reason.Bounded(fault.Error())}
	}
}

// JobSize returns how many bytes a command takes as JSON.
func JobSize(cmd domain.CreateJob) int {
	b, err := json.Marshal(cmd)
	if err != nil {
		return 1 << 20 // plain data can always be encoded; else the row is refused
	}
	return len(b)
}
