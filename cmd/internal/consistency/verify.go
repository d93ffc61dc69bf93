package consistency

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// Live is the live state to be verified.
type Live struct {
	eventstore.Inspector
	eventstore.RingInspector
	eventstore.QueryInspector
	eventstore.EntryInspector
	eventstore.Layout
	State
	Entries
	IDs
}

// IDs are the numbers that the next ids will have.
type IDs interface {
	NextIDs(ctx context.Context) (eventstore.Numbers, error)
	// RaiseIDs makes them at least these.
	RaiseIDs(ctx context.Context, least eventstore.Numbers) error
}

// State is the live state as it is read in daily work.
type State interface {
	Batch(ctx context.Context, id domain.BatchID) (eventstore.Loaded[domain.Batch], error)
	Job(ctx context.Context, id domain.JobID) (eventstore.Loaded[domain.Job], error)
	Setting(ctx context.Context, kind domain.SettingKind, name string) (eventstore.Loaded[domain.Setting], error)
	Depth(ctx context.Context) (eventstore.OutboxDepth, error)
	Shards() int
	Mark(ctx context.Context, shard int) (eventstore.Mark, error)
	Read(ctx context.Context, shard int, after eventstore.Offset, limit int) ([]eventstore.Item, error)
}

// Entries are the entries of the compute queue as workers read them.
type Entries interface {
	EntryOfKey(ctx context.Context, key string) (compute.ID, error)
	LoadEntry(ctx context.Context, id compute.ID) (eventstore.Loaded[compute.Entry], error)
}

// WorkDir is a directory that a job works in, or worked in.
type WorkDir struct {
	Path   string
	Job    domain.JobID
	Remove func() error
}

// Config says what to compare.
type Config struct {
	Live Live
	Log  eventstore.Log
	DB   query.DB // nil = not the tables
	// Used returns the highest ids in the records, "" = none; nil = they are not asked.
	Used func(ctx context.Context) (domain.BatchID, domain.JobID, error)
	// HighWater has the marks of the installation.
	HighWater HighWater
	// Attempts ends attempts at files that no worker makes, nil = a person has to.
	Attempts Attempts
	// WorkDirs lists the working directories of jobs, nil = they are not checked.
	WorkDirs func(ctx context.Context) ([]WorkDir, error)
	// Wait is how long to wait for what is ahead of the log, or for tables behind it.
	// 0 = 10 s.
	Wait time.Duration
	// OutboxLimit is how old an event may become before it is in the log. 0 = a minute.
	OutboxLimit time.Duration
	// Observe is called with every event of the log once, those of an aggregate in
	// their order; nil = no calls.
	Observe func(domain.Recorded)
	// Progress is called from several goroutines; nil = no calls.
	Progress ProgressFunc
}

// Progress says how far a check or a restore is.
type Progress struct {
	Doing       string
	Done, Total int
}

// ProgressFunc is called now and then with the progress of something that takes
// long; nil = no calls.
type ProgressFunc func(Progress)

// Report calls it, unless it is nil.
func (f ProgressFunc) Report(doing string, done, total int) {
	if f != nil {
		f(Progress{doing, done, total})
	}
}

// Report is what a check found.
type Report struct {
	Findings []Finding `json:"findings"`
	// How much was compared.
	Events   uint64 `json:"events"`
	Batches  int    `json:"batches"`
	Jobs     int    `json:"jobs"`
	Files    int    `json:"files"`
	Queries  int    `json:"queries"`
	Slots    int    `json:"slots"`
	Entries  int    `json:"entries"`
	Settings int    `json:"settings"`
	// BusyQueues are deposit queues that were written all the time: of them only the numbers
	// of running deposits were compared.
	BusyQueues []string `json:"busy_queues,omitempty"`
}

// Worst returns the highest severity, "" when nothing was found.
func (r Report) Worst() (worst Severity) {
	for _, f := range r.Findings {
		if worst != Person {
			worst = f.Severity
		}
	}
	return worst
}

const (
	defaultWait        = 10 * time.Second
	defaultOutboxLimit = time.Minute
	pollEvery          = 20 * time.Millisecond
	checkParallel      = 16
	// eventsAPass bounds the memory of a check: a longer log is folded in several
	// passes, each over its share of the batches.
	eventsAPass = 2_000_000
	// maxTimeouts is how many waits may end in vain before the check waits no more.
	maxTimeouts = 5
)

// checker is one check.
type checker struct {
	Config
	survey   *eventstore.Survey
	surveyed map[domain.Aggregate]bool       // what is in the survey
	unseen   map[domain.Aggregate]bool       // of it, what was not yet met in the log
	last     uint64                          // the log's last sequence when the check began
	highest  highestIDs                      // that were met
	keys     map[string]compute.ID           // the nodes of the keys of entries, by the log
	atRings  map[string]eventstore.RingState // where the deposit queues stand, by the events
	met      uint64                          // the last sequence of the log that is in atRings
	parts    uint32                          // passes
	poison   map[domain.Aggregate]string     // held in the tables
	settings map[domain.Aggregate]domain.Setting
	behind   bool // the tables do not have what the log had when the check began

	timeouts atomic.Int32

	mu     sync.Mutex
	result Report
}

// newChecker takes the survey.
func newChecker(ctx context.Context, cfg Config) (c *checker, err error) {
	cfg.Wait, cfg.OutboxLimit = cmp.Or(cfg.Wait, defaultWait), cmp.Or(cfg.OutboxLimit, defaultOutboxLimit)
	c = &checker{Config: cfg, result: Report{Findings: []Finding{}}, settings: map[domain.Aggregate]domain.Setting{}, keys: map[string]compute.ID{}}
	c.Progress.Report("listing the live state", 0, 0)
	c.survey, err = c.Live.Survey(ctx)
	return c, err
}

// Verify compares the three servers and returns all differences, sorted. The error is
// one of reading: the check could not be made.
func Verify(ctx context.Context, cfg Config) (Report, error) {
	c, err := newChecker(ctx, cfg)
	if err != nil {
		return c.result, err
	}
	for _, step := range []func(context.Context) error{c.copies, c.begin, c.outbox, c.projected, c.passes, c.unknown, c.rings, c.ids, c.strays, c.workDirs, c.tables} {
		if err := step(ctx); err != nil {
			return c.result, err
		}
	}
	SortFindings(c.result.Findings)
	return c.result, nil
}

// SortFindings sorts findings by where they were made and what they are about.
func SortFindings(list []Finding) {
	slices.SortFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.In, b.In), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Where, b.Where))
	})
}

// begin finds out how far the log goes, and what the survey has.
func (c *checker) begin(ctx context.Context) error {
	info, err := c.Log.Info(ctx)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	c.last, c.met, c.result.Events = info.Last, info.Last, info.Last
	c.atRings = map[string]eventstore.RingState{}
	c.parts = uint32(1 + info.Last/eventsAPass)
	c.surveyed = map[domain.Aggregate]bool{}
	for _, id := range c.survey.Batches {
		c.surveyed[id.Aggregate()] = true
	}
	for _, id := range c.survey.Jobs {
		c.surveyed[id.Aggregate()] = true
	}
	for _, id := range c.survey.Queries {
		c.surveyed[id.Aggregate()] = true
	}
	for _, id := range c.survey.Compute {
		c.surveyed[id.Aggregate()] = true
	}
	for _, a := range c.survey.Settings {
		c.surveyed[a] = true
	}
	c.unseen = maps.Clone(c.surveyed)
	return nil
}

// outbox looks for events that stay in the outbox.
func (c *checker) outbox(ctx context.Context) error {
	d, err := c.Live.Depth(ctx)
	if err == nil && d.Oldest > c.OutboxLimit {
		c.report(finding(OutboxOld, "", "/outbox", "nothing older than "+c.OutboxLimit.String(),
			fmt.Sprintf("%d nodes, the oldest for %s", d.Unsent, d.Oldest.Round(time.Second))))
	}
	return err
}

// passes folds the log, a share of the batches at a time, and compares each with
// the live state and the tables.
func (c *checker) passes(ctx context.Context) error {
	for part := range c.parts {
		f, err := c.fold(ctx, part)
		if err != nil {
			return err
		}
		maps.Copy(c.settings, f.settings)
		if err := c.tree(ctx, f); err != nil {
			return err
		}
		if err := c.rows(ctx, f, part); err != nil {
			return err
		}
	}
	return nil
}

// tree compares what was folded with the live state.
func (c *checker) tree(ctx context.Context, f *folded) error {
	r := &c.result
	r.Batches, r.Jobs, r.Files, r.Settings = r.Batches+len(f.batches), r.Jobs+len(f.jobs), r.Files+len(f.files), r.Settings+len(f.settings)
	r.Queries, r.Slots, r.Entries = r.Queries+len(f.queries), r.Slots+len(f.slots), r.Entries+len(f.entries)
	g := c.group(ctx, len(f.batches)+len(f.jobs)+len(f.queries)+len(f.entries))
	c.queries(g, f)
	c.entries(g, f)
	c.attempts(g, f)
	for a, b := range f.batches {
		if b.State != domain.BatchDeleted || c.unseen[a] || len(c.survey.Tickets[b.ID]) > 0 {
			check(g, func(ctx context.Context) (comparison[domain.Batch], error) { return c.batch(ctx, b, f) })
		}
		delete(c.unseen, a)
	}
	for a, j := range f.jobs {
		there := c.unseen[a] || len(c.survey.Entries[j.ID])+len(c.survey.Refs[j.ID])+len(c.survey.Promises[j.ID])+len(c.survey.Objects[j.ID]) > 0
		if there || j.State != domain.JobDeleted && !f.batches[j.Configuration.BatchID.Aggregate()].Cleaned() {
			check(g, func(ctx context.Context) (comparison[domain.Job], error) { return c.job(ctx, j) })
		}
		delete(c.unseen, a)
	}
	return g.Wait()
}

// unknown compares the settings, and what the log did not have.
func (c *checker) unknown(ctx context.Context) error {
	g := c.group(ctx, len(c.unseen))
	for a := range c.unseen {
		switch a.Kind {
		case domain.KindBatch:
			check(g, func(ctx context.Context) (comparison[domain.Batch], error) { return c.batch(ctx, batches.zero(a), nil) })
		case domain.KindJob:
			check(g, func(ctx context.Context) (comparison[domain.Job], error) { return c.job(ctx, jobs.zero(a)) })
		case domain.KindQuery:
			check(g, func(ctx context.Context) (comparison[lookup.Query], error) { return c.query(ctx, queries.zero(a)) })
		case domain.KindEntry:
			check(g, func(ctx context.Context) (comparison[compute.Entry], error) { return c.entry(ctx, entries.zero(a)) })
		default:
			if _, known := c.settings[a]; !known {
				c.settings[a] = settings.zero(a)
			}
		}
	}
	for a, s := range c.settings {
		check(g, func(ctx context.Context) (comparison[domain.Setting], error) { return c.setting(ctx, a, s) })
	}
	return g.Wait()
}

// group is checks in parallel.
type group struct {
	*errgroup.Group
	c     *checker
	ctx   context.Context //nolint:containedctx // that of the group
	total int
	done  atomic.Int64
}

func (c *checker) group(ctx context.Context, total int) *group {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(checkParallel)
	return &group{Group: g, c: c, ctx: ctx, total: total}
}

// check makes one comparison and keeps what it finds.
func check[S any](g *group, compare func(context.Context) (comparison[S], error)) {
	g.Go(func() error {
		v, err := compare(g.ctx)
		g.c.report(v.findings...)
		g.c.Progress.Report("comparing batches and jobs", int(g.done.Add(1)), g.total)
		return err
	})
}

// report keeps findings.
func (c *checker) report(f ...Finding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result.Findings = append(c.result.Findings, f...)
}

// patience is how long to wait for one thing.
type patience struct {
	c   *checker
	end time.Time
}

func (c *checker) patient() *patience {
	if c.timeouts.Load() >= maxTimeouts {
		return &patience{c, time.Now()}
	}
	return &patience{c, time.Now().Add(c.Wait)}
}

// wait pauses a moment, and reports whether any patience is left.
func (p *patience) wait(ctx context.Context) bool {
	if !time.Now().Before(p.end) {
		p.c.timeouts.Add(1)
		return false
	}
	select {
	case <-time.After(pollEvery):
		return true
	case <-ctx.Done():
		return false
	}
}
