package daemon

import (
	"encoding/json"
	"fmt"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
)

// Limits in bytes. A job's data stands in its nodes and again in its event, and
// all that one write holds must stay far below what ZooKeeper takes.
const (
	maxRowBytes    = 8 << 10
	maxCommitBytes = 400 << 10
)

// createJob gives the command that makes the job of row i, and about how many
// bytes it adds to a write. rows is nil for a batch of one job.
func (s *steps) createJob(p Profile, b domain.Batch, rows []manifest.Row, i int) (domain.CreateJob, int) {
	sub, jid := b.Submission, b.Listing.FirstJID.Plus(i)
	cmd := domain.CreateJob{
		Priority:    p.Priority.ForBatch(b.Listing.Rows),
		Identifiers: domain.Identifiers{LocalID: []string{}},
		Metadata:    domain.Metadata{ErcWho: sub.ErcWho, ErcWhat: sub.ErcWhat, ErcWhen: sub.ErcWhen, ErcWhere: sub.ErcWhere},
		Configuration: domain.Configuration{
			BatchID: b.ID, ProfileName: sub.ProfileName, Submitter: sub.Submitter,
			PayloadType: sub.Type.PayloadType(), ResponseType: p.ResponseType, SubmissionMode: sub.SubmissionMode,
			WorkingDir: s.workingDir(p, b.ID, jid), Row: i,
		},
	}
	if rows == nil {
		c := &cmd.Configuration
		c.PayloadURL, c.FileName, c.Size = sub.PayloadURL, sub.FileName, sub.Size
		c.DigestAlgorithm, c.DigestValue = sub.DigestAlgorithm, sub.DigestValue
		if c.FileName == "" { // a submission that does not say is named as its payload will be
			c.FileName = manifest.PayloadName(sub.PayloadURL)
		}
	} else {
		fromRow(&cmd, rows[i])
	}
	size := encodedSize(cmd)
	if size > maxRowBytes {
		// Bounded as well: a row that is refused must itself fit.
		c := cmd.Configuration
		c.PayloadURL, c.FileName = "", ""
		c.RowFault = &domain.Reason{Class: domain.ClassContent, Code: domain.CodeRowFault,
			Message: fmt.Sprintf("row %d holds %d bytes of URL, identifiers and description, more than %d: shorten it", i+1, size, maxRowBytes)}
		cmd.Configuration, cmd.Metadata, cmd.Identifiers.Primary, cmd.Identifiers.LocalID = c, domain.Metadata{}, "", []string{}
		size = encodedSize(cmd)
	}
	return cmd, 2*size + 2048
}

// fromRow takes over what a row says.
func fromRow(cmd *domain.CreateJob, r manifest.Row) {
	c := &cmd.Configuration
	c.PayloadURL, c.FileName, c.Size = r.FileURL, r.FileName, max(r.Size, 0)
	c.DigestAlgorithm, c.DigestValue = string(r.HashAlgorithm), r.HashValue
	cmd.Identifiers.Primary = r.PrimaryIdentifier
	if r.LocalIdentifiers != nil {
		cmd.Identifiers.LocalID = r.LocalIdentifiers
	}
	m := &cmd.Metadata
	for _, v := range []struct{ to, from *string }{{&m.ErcWho, &r.Creator}, {&m.ErcWhat, &r.Title}, {&m.ErcWhen, &r.Date}} {
		if *v.from != "" {
			*v.to = *v.from
		}
	}
	if r.Fault != nil {
		c.RowFault = &domain.Reason{Class: domain.ClassContent, Code: domain.CodeRowFault, Message: bounded(r.Fault.Error())}
	}
}

// encodedSize is how many bytes a command takes as JSON.
func encodedSize(cmd domain.CreateJob) int {
	b, err := json.Marshal(cmd)
	if err != nil {
		return maxRowBytes + 1 // plain data, always encodable; refused if not
	}
	return len(b)
}
