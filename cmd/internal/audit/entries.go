package audit

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/projections/query"
)

// results compares the results of entries of the compute queue with what the log says of them.
// What a command has written is not in the log: nothing makes a result again.
func (c *checker) results(ctx context.Context) error {
	if c.Servers.DB == nil {
		return nil
	}
	faults, err := query.Tables{DB: c.Servers.DB}.Results(ctx)
	for _, f := range faults {
		of, code := compute.ID(f.EntryID).Aggregate(), consistency.ResultWrong
		switch f.Fault {
		case query.FaultMissing:
			code = consistency.ResultMissing
		case query.FaultUnknown:
			known, err := c.inLog(ctx, of)
			if err != nil {
				return err
			}
			if known {
				continue // the tables are behind
			}
			code = consistency.ResultUnexplained
		}
		c.found(consistency.NewFinding(code, of.String(), "compute_result", f.Expected, f.Found, nil))
	}
	return err
}

// inLog reports whether the log has an aggregate, or the outbox will bring it there.
func (c *checker) inLog(ctx context.Context, a domain.Aggregate) (bool, error) {
	last, err := c.Servers.Log.Last(ctx, a)
	if err != nil || last.Version > 0 || a.Kind.OfLog() {
		return last.Version > 0, err
	}
	unsent, err := c.Servers.Live.UnsentOf(ctx, a, "")
	if err != nil || unsent > 0 {
		return unsent > 0, err
	}
	last, err = c.Servers.Log.Last(ctx, a) // what was unsent before may be there now
	return last.Version > 0, err
}
