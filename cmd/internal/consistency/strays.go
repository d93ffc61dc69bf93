package consistency

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

func (c *checker) settingKind(a domain.Aggregate) kind[domain.Setting] {
	return kind[domain.Setting]{
		zero: settingOf(a), version: func(s domain.Setting) int64 { return s.Version }, evolve: domain.EvolveSetting,
		batch:   func(domain.Setting) domain.BatchID { return "" },
		inspect: func(ctx context.Context) (eventstore.Observed, error) { return c.Live.InspectSetting(ctx, a) },
		draw:    func(s domain.Setting, _ eventstore.Observed) eventstore.Nodes { return c.Live.ExpectedSetting(s) },
	}
}

// settings compares holds, pauses and what else is set.
func (c *checker) settings(ctx context.Context) error {
	for a := range c.sets {
		if _, known := c.known[a]; !known {
			c.known[a] = settingOf(a)
		}
	}
	for a, s := range c.known {
		v, err := judge(ctx, c, a, c.settingKind(a), s)
		if err != nil {
			return err
		}
		c.found(v.findings...)
	}
	return nil
}

// maxBelow bounds how much is listed of one node that belongs to nothing; a repair of
// these makes room for the next.
const maxBelow = 1000

// strays looks for nodes that belong to nothing: what has a name that fits nothing,
// and entries, references and promises that name a job of which nobody knows anything.
func (c *checker) strays(ctx context.Context) error {
	for _, node := range c.survey.Strays {
		all, err := c.Live.Below(ctx, node, maxBelow)
		if err != nil {
			return err
		}
		for _, n := range all {
			c.found(finding(StrayNode, "", n, absent, "it"))
		}
	}
	jobs := setOf(c.survey.Jobs)
	for code, list := range map[domain.Code]map[domain.JobID][]string{QueueEntryOrphan: c.survey.Entries, ReferenceOrphan: c.survey.Refs, PromiseOrphan: c.survey.Promises} {
		for id, nodes := range list {
			if jobs[id] {
				continue // looked at with the job
			}
			found, err := c.orphans(ctx, code, id, nodes)
			if err != nil {
				return err
			}
			c.found(found...)
		}
	}
	return nil
}

// orphans names those of the nodes that are there though their job is not. A job
// and what names it come and go in one write, so that it is enough to look at the
// node after it was seen that there is no job. Of jobs of which the log knows, the
// comparison with the log has told.
func (c *checker) orphans(ctx context.Context, code domain.Code, id domain.JobID, nodes []string) (found []Finding, err error) {
	last, err := c.Log.Last(ctx, id.Aggregate())
	if err != nil || last.Version > 0 {
		return nil, err
	}
	look, err := c.Live.InspectJob(ctx, id)
	if err != nil || look.Version > 0 || look.Dir {
		return nil, err
	}
	for _, node := range nodes {
		all, err := c.Live.Below(ctx, node, maxBelow)
		if err != nil {
			return nil, err
		}
		for _, n := range all {
			found = append(found, finding(code, "", n, absent, "it"))
		}
	}
	return found, nil
}

// workDirs looks for working directories whose job is gone, or has left its queue.
// Both happen after the directory was removed.
func (c *checker) workDirs(ctx context.Context) error {
	if c.WorkDirs == nil {
		return nil
	}
	c.tell("looking into working directories", 0, 0)
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
	if dirs, err = c.WorkDirs(ctx); err != nil {
		return err
	}
	for _, d := range dirs {
		if why, still := suspects[d.Path]; still {
			f := finding(WorkOrphan, "", d.Path, absent, "it, of "+why)
			f.remove = d.Remove
			c.found(f)
		}
	}
	return nil
}

// isStray reports whether a finding is about something that belongs to nothing.
func isStray(f Finding) bool {
	return f.In == InZooKeeper && f.Subject == "" && strings.HasPrefix(f.Where, "/") && f.Code != OutboxOld
}
