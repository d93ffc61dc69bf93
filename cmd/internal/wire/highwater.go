package wire

import (
	"context"
	"errors"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/highwater"
)

// How often a high-water mark is made while anything changes, and how long the last one
// of a process that stops may take.
const (
	markEvery   = 2 * time.Second
	markTimeout = 2 * time.Second
)

// MarkHighWater makes high-water marks until ctx ends, and then a last one. Any number of
// processes may do so at once. While a server does not answer no mark is made; a server
// that was put back to an older copy under this process is an ERROR in the log.
func (in *Installation) MarkHighWater(ctx context.Context) error {
	water, err := in.HighWater(ctx)
	if err == nil && (water.Records == nil || water.Store == nil) {
		err = errors.New("PostgreSQL or the object store do not answer")
	}
	if err != nil {
		return err
	}
	tick := time.NewTicker(markEvery)
	defer tick.Stop()
	for said := ""; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTimeout)
			err := in.markHighWater(last, water)
			cancel()
			if err != nil {
				in.log.Debug("no last high-water mark was made", "error", err)
			}
			return nil
		}
		var o *consistency.Older
		switch err := in.markHighWater(ctx, water); {
		case !errors.As(err, &o):
			if err != nil {
				in.log.Debug("no high-water mark was made", "error", err)
			}
			said = ""
		case o.Why != said:
			said = o.Why
			in.log.Error("a server was put back to an older copy of its data while this process runs: stop every process; the next start says what to do", "code", o.Code, "error", o)
		}
	}
}

// markHighWater makes one mark, of what is read before.
func (in *Installation) markHighWater(ctx context.Context, water consistency.HighWater) (err error) {
	now := highwater.Mark{}
	log, err := in.Log(ctx)
	if err != nil {
		return err
	}
	info, err := log.Info(ctx)
	if err != nil {
		return err
	}
	live, err := in.LiveState(ctx)
	if err != nil {
		return err
	}
	if _, now.Epoch, err = live.HighWater(ctx); err != nil {
		return err
	}
	next, err := live.NextIDs(ctx)
	if err != nil {
		return err
	}
	now.LogSeq = info.Last
	if next.Batch > 1 {
		now.Batch = domain.NewBatchID(next.Batch - 1)
	}
	if next.Job > 1 {
		now.Job = domain.NewJobID(next.Job - 1)
	}
	return water.Raise(ctx, now)
}
