package zklive

import (
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// planRedraw makes the nodes of an aggregate what they should be, whatever lay
// there when it was looked at. That nothing has moved since is proven by the
// compare-and-set on the status: every write to the aggregate writes it.
func (s *Store) planRedraw(p *plan, c eventstore.Change) {
	var after image
	var status string
	switch {
	case c.Batch != nil:
		after, status = s.paths.batchImage(c.Batch.To), s.paths.batchStatus(c.Batch.To.ID)
	case c.Job != nil:
		after, status = s.paths.wholeJob(c.Job.To), s.paths.jobStatus(c.Job.To.ID)
	default:
		after, status = s.paths.settingImage(c.Setting.To), s.paths.settingVersion(c.Setting.To.Aggregate())
	}
	before := image{}
	for node, data := range c.Observed.Nodes {
		before[s.paths.at(node)] = []byte(data)
	}
	if l := c.Observed.Lock; l != nil {
		// A lock that is not seized has version 0 and is not deleted: the server
		// refuses version -2 for any node.
		version := l.Version
		if version == 0 {
			version = -2
		}
		p.delete(s.paths.at(l.Node), version, eventstore.ErrLocked)
	}
	d, token := diff(before, after), -1
	for _, path := range d.del {
		version := int32(-1)
		if path == status {
			version = int32(c.Token)
		}
		p.delete(path, version, eventstore.ErrConflict)
	}
	for _, path := range d.set {
		if path == status {
			token = p.set(path, after[path], int32(c.Token), eventstore.ErrConflict)
			continue
		}
		p.set(path, after[path], -1, eventstore.ErrConflict)
	}
	for _, path := range d.create {
		data := after[path]
		if c.Job != nil && path == s.paths.claims(c.Job.To.ID) {
			data = encode(claimCount{Version: c.Job.To.Version})
		}
		p.create(path, data, 0, eventstore.ErrConflict)
	}
	if c.Setting != nil && c.Setting.To.Kind != domain.HoldAudit {
		p.set(s.paths.locks(), nil, -1, eventstore.ErrConflict)
	}
	p.status, p.alone = append(p.status, token), true
}
