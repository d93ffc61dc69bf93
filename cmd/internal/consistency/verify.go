package consistency

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections"
)

// Live is the live state as a check needs it.
type Live interface {
	eventstore.Live
	eventstore.Inspector
	eventstore.Layout
	Depth(ctx context.Context) (eventstore.OutboxDepth, error)
}

// WorkDir is a directory that a job works in, or worked in.
type WorkDir struct {
	Path   string
	Batch  domain.BatchID
	Job    domain.JobID
	Remove func() error
}

// Config says what to compare.
type Config struct {
	Live Live
	Log  eventstore.Log
	DB   projections.DB // nil = the tables are not looked at
	// WorkDirs lists the working directories of jobs, nil = they are not looked at.
	WorkDirs func(ctx context.Context) ([]WorkDir, error)
	// Wait is how long something that is ahead of the log, or the tables behind it,
	// is waited for. 0 = 10 s.
	Wait time.Duration
	// OutboxLimit is how old an event may become before it is in the log. 0 = a minute.
	OutboxLimit time.Duration
	// Progress is told how far the check is, from several goroutines; nil = nobody.
	Progress func(Progress)
}

// Progress tells how far a check is.
type Progress struct {
	Doing       string
	Done, Total int
}

// Report is what a check found.
type Report struct {
	Findings []Finding `json:"findings"`
	// How much was looked at.
	Events   uint64 `json:"events"`
	Batches  int    `json:"batches"`
	Jobs     int    `json:"jobs"`
	Files    int    `json:"files"`
	Settings int    `json:"settings"`
}

// Worst gives the highest severity, "" when nothing was found.
func (r Report) Worst() Severity {
	worst := Severity("")
	for _, f := range r.Findings {
		if f.Severity == Person {
			return Person
		}
		worst = f.Severity
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
	// maxTimeouts is how many things may be waited for in vain before the others
	// are not waited for.
	maxTimeouts = 5
)

// checker is one check.
type checker struct {
	Config
	survey *eventstore.Survey
	last   uint64                      // the log's last place when the check began
	parts  uint32                      // passes
	jobs   map[domain.JobID]bool       // in the survey, not yet met in the log
	bids   map[domain.BatchID]bool     // the same
	sets   map[domain.Aggregate]bool   // the same
	poison map[domain.Aggregate]string // held back in the tables
	known  map[domain.Aggregate]domain.Setting
	behind bool // the tables do not have what the log had when the check began

	mu       sync.Mutex
	report   Report
	timeouts int
	done     int
}

// Verify compares the three servers and names all differences, sorted. The error is
// one of reading: the check could not be made.
func Verify(ctx context.Context, cfg Config) (Report, error) {
	cfg.Wait, cfg.OutboxLimit = cmp.Or(cfg.Wait, defaultWait), cmp.Or(cfg.OutboxLimit, defaultOutboxLimit)
	c := &checker{Config: cfg, report: Report{Findings: []Finding{}}, known: map[domain.Aggregate]domain.Setting{}}
	for _, step := range []func(context.Context) error{c.begin, c.outbox, c.passes, c.unknown, c.settings, c.strays, c.workDirs, c.tables} {
		if err := step(ctx); err != nil {
			return c.report, err
		}
	}
	slices.SortFunc(c.report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.In, b.In), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Where, b.Where))
	})
	return c.report, nil
}

// begin takes the survey and looks how far the log goes.
func (c *checker) begin(ctx context.Context) error {
	c.tell("listing the live state", 0, 0)
	var err error
	if c.survey, err = c.Live.Survey(ctx); err != nil {
		return err
	}
	info, err := c.Log.Info(ctx)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	c.last, c.report.Events = info.Last, info.Last
	c.parts = uint32(1 + info.Last/eventsAPass)
	c.jobs, c.bids, c.sets = setOf(c.survey.Jobs), setOf(c.survey.Batches), setOf(c.survey.Settings)
	return nil
}

func setOf[K comparable](list []K) map[K]bool {
	set := make(map[K]bool, len(list))
	for _, k := range list {
		set[k] = true
	}
	return set
}

// passes folds the log, a share of the batches at a time, and compares each with
// the live state and the tables.
func (c *checker) passes(ctx context.Context) error {
	if err := c.projected(ctx); err != nil {
		return err
	}
	for part := range c.parts {
		f, err := c.fold(ctx, part)
		if err != nil {
			return err
		}
		maps.Copy(c.known, f.settings)
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
	c.done = 0
	total := len(f.batches) + len(f.jobs)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(checkParallel)
	for id, b := range f.batches {
		there := c.bids[id]
		delete(c.bids, id)
		if b.State != domain.BatchDeleted || there {
			g.Go(func() error {
				return c.one(gctx, total, func(ctx context.Context) ([]Finding, error) { return c.batch(ctx, b, f) })
			})
		}
	}
	for id, j := range f.jobs {
		there := c.jobs[id] || len(c.survey.Entries[id])+len(c.survey.Refs[id])+len(c.survey.Promises[id]) > 0
		delete(c.jobs, id)
		gone := j.State == domain.JobDeleted || f.batches[j.Configuration.BatchID].Cleaned()
		if !gone || there {
			g.Go(func() error {
				return c.one(gctx, total, func(ctx context.Context) ([]Finding, error) { return c.job(ctx, j) })
			})
		}
	}
	c.mu.Lock()
	c.report.Batches += len(f.batches)
	c.report.Jobs += len(f.jobs)
	c.report.Files += len(f.files)
	c.report.Settings += len(f.settings)
	c.mu.Unlock()
	return g.Wait()
}

// one makes one check and keeps what it finds.
func (c *checker) one(ctx context.Context, total int, check func(context.Context) ([]Finding, error)) error {
	found, err := check(ctx)
	c.mu.Lock()
	c.report.Findings = append(c.report.Findings, found...)
	c.done++
	done := c.done
	c.mu.Unlock()
	c.tell("comparing batches and jobs", done, total)
	return err
}

// unknown looks at what the log did not tell of.
func (c *checker) unknown(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(checkParallel)
	for id := range c.bids {
		g.Go(func() error {
			return c.one(gctx, len(c.bids), func(ctx context.Context) ([]Finding, error) { return c.batch(ctx, domain.Batch{ID: id}, nil) })
		})
	}
	for id := range c.jobs {
		g.Go(func() error {
			return c.one(gctx, len(c.jobs), func(ctx context.Context) ([]Finding, error) { return c.job(ctx, domain.Job{ID: id}) })
		})
	}
	return g.Wait()
}

// outbox looks for events that nobody carries to the log.
func (c *checker) outbox(ctx context.Context) error {
	d, err := c.Live.Depth(ctx)
	if err == nil && d.Oldest > c.OutboxLimit {
		c.found(finding(OutboxOld, "", "/outbox", "nothing older than "+c.OutboxLimit.String(),
			fmt.Sprintf("%d nodes, the oldest for %s", d.Unsent, d.Oldest.Round(time.Second))))
	}
	return err
}

func (c *checker) found(f ...Finding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Findings = append(c.report.Findings, f...)
}

func (c *checker) tell(doing string, done, total int) {
	if c.Progress != nil {
		c.Progress(Progress{doing, done, total})
	}
}

// patience is how long one thing is waited for.
type patience struct {
	c    *checker
	left time.Time
}

func (c *checker) patient() *patience {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &patience{c: c, left: time.Now().Add(c.Wait)}
	if c.timeouts >= maxTimeouts {
		p.left = time.Now()
	}
	return p
}

// wait pauses a moment, and reports whether there is any patience left.
func (p *patience) wait(ctx context.Context) bool {
	if !time.Now().Before(p.left) {
		p.c.mu.Lock()
		p.c.timeouts++
		p.c.mu.Unlock()
		return false
	}
	select {
	case <-time.After(pollEvery):
		return true
	case <-ctx.Done():
		return false
	}
}

// restWait is how long [Compare] waits for what should be at rest.
const restWait = 2 * time.Second

// Compare names all differences of a system at rest, sorted; none means that the
// three servers agree. The error is one of reading.
func Compare(ctx context.Context, live eventstore.Live, log eventstore.Log, db projections.DB) ([]Finding, error) {
	l, ok := live.(Live)
	if !ok {
		return nil, fmt.Errorf("%T cannot be inspected", live)
	}
	r, err := Verify(ctx, Config{Live: l, Log: log, DB: db, Wait: restWait})
	return r.Findings, err
}
