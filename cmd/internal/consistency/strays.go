package consistency

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// maxBelow bounds how much is listed of one node that belongs to nothing; a repair of
// these makes room for the next.
const maxBelow = 1000

// strays finds nodes that belong to nothing: those whose names fit nothing, and
// entries, references, promises and object entries of jobs that have neither nodes nor history.
// Nodes beside the documented ones are reported and left alone.
func (c *checker) strays(ctx context.Context) error {
	for _, node := range c.survey.Foreign {
		c.report(finding(ForeignNode, "", node, absent, "it"))
	}
	if err := c.below(ctx, StrayNode, c.survey.Strays); err != nil {
		return err
	}
	for id, nodes := range c.survey.Tickets {
		if err := c.orphanTickets(ctx, id, nodes); err != nil {
			return err
		}
	}
	for id, nodes := range c.survey.QueryTickets {
		if err := c.orphanQueryTickets(ctx, id, nodes); err != nil {
			return err
		}
	}
	if err := c.orphanEntries(ctx); err != nil {
		return err
	}
	for code, list := range map[domain.Code]map[domain.JobID][]string{QueueEntryOrphan: c.survey.Entries, ReferenceOrphan: c.survey.Refs, PromiseOrphan: c.survey.Promises,
		ObjectEntryOrphan: c.survey.Objects} {
		for id, nodes := range list {
			if err := c.orphans(ctx, code, id, nodes); err != nil {
				return err
			}
		}
	}
	return nil
}

// orphans reports those of the nodes that are there though their job is not. A job
// and the nodes that name it come and go in one write, so that it is enough to look
// at a node after it was seen that there is no job. A job that has nodes or a history
// was compared with them.
func (c *checker) orphans(ctx context.Context, code domain.Code, id domain.JobID, nodes []string) error {
	if c.surveyed[id.Aggregate()] {
		return nil
	}
	last, err := c.Log.Last(ctx, id.Aggregate())
	if err != nil || last.Version > 0 {
		return err
	}
	observed, err := c.Live.InspectJob(ctx, id)
	if err != nil || observed.Version > 0 || observed.Dir {
		return err
	}
	return c.below(ctx, code, nodes)
}

// orphanTickets is the same for the nodes of batches in deposit queues.
func (c *checker) orphanTickets(ctx context.Context, id domain.BatchID, nodes []string) error {
	if c.surveyed[id.Aggregate()] {
		return nil
	}
	last, err := c.Log.Last(ctx, id.Aggregate())
	if err != nil || last.Version > 0 {
		return err
	}
	observed, err := c.Live.InspectBatch(ctx, id)
	if err != nil || observed.Version > 0 || observed.Dir {
		return err
	}
	return c.below(ctx, TicketOrphan, nodes)
}

// below reports nodes, and what is below them, as belonging to nothing.
func (c *checker) below(ctx context.Context, code domain.Code, nodes []string) error {
	for _, node := range nodes {
		all, err := c.Live.Below(ctx, node, maxBelow)
		if err != nil {
			return err
		}
		for _, n := range all {
			c.report(finding(code, "", n, absent, "it"))
		}
	}
	return nil
}

// isStray reports whether a finding is about a node that belongs to nothing.
func isStray(f Finding) bool {
	return f.In == InZooKeeper && f.Subject == "" && strings.HasPrefix(f.Where, "/") && f.Code != OutboxOld && f.Code != RingWrong
}

// workDirs finds working directories whose job is gone, or has left its queue. Both
// happen after the directory was removed.
func (c *checker) workDirs(ctx context.Context) error {
	if c.WorkDirs == nil {
		return nil
	}
	c.Progress.Report("looking into working directories", 0, 0)
	dirs, err := c.WorkDirs(ctx)
	if err != nil || len(dirs) == 0 {
		return err
	}
	if err := c.Live.Sync(ctx); err != nil {
		return err
	}
	suspects := map[string]string{}
	for _, d := range dirs {
		at, err := c.Live.Job(ctx, d.Job)
		switch {
		case errors.Is(err, eventstore.ErrNotFound):
			suspects[d.Path] = "no such job"
		case errors.Is(err, eventstore.ErrBroken):
			// a finding of its own
		case err != nil:
			return fmt.Errorf("look for the job of %s: %w", d.Path, err)
		case at.State.Cleaned:
			suspects[d.Path] = "a job that has ended and was cleaned up"
		}
	}
	if len(suspects) == 0 {
		return nil
	}
	dirs, err = c.WorkDirs(ctx)
	for _, d := range dirs {
		if why, still := suspects[d.Path]; still {
			f := finding(WorkOrphan, "", d.Path, absent, "it, of "+why)
			f.repair = func(context.Context) error { return d.Remove() }
			c.report(f)
		}
	}
	return err
}
