package ops

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Installation is what a scrape asks about everything that the processes share,
// and about the connections of this one. Each question may fail alone; its
// numbers are then missing, and accession_scrape_errors_total counts it.
type Installation struct {
	Overview func(ctx context.Context) (eventstore.Overview, error)
	// HeapLimit is at how many bytes of ZooKeeper's heap deposits are refused.
	HeapLimit int64
	// Permits counts the permits for servers of others and for submitters.
	Permits func(ctx context.Context) (Permits, error)
	// Oldest returns the time since which the job has waited that has waited longest
	// in a state.
	Oldest func(ctx context.Context) (map[domain.JobState]time.Time, error)
	// OldestBatches is the same for the batches that daemons work on.
	OldestBatches func(ctx context.Context) (map[domain.BatchState]time.Time, error)
	// Holds returns the holds on collections and the pauses of queues.
	Holds func(ctx context.Context) (eventstore.Holds, error)
	// Lag returns how many events the tables lack, and how long ago the log took the
	// first of them.
	Lag func(ctx context.Context) (events int64, age time.Duration, err error)
	// Types is Lag for the stream by types, nil = there is no such stream.
	Types func(ctx context.Context) (*Lag, error)
	// Poison counts the events that the tables could not take, up to a bound.
	Poison func(ctx context.Context) (int, error)
	// Audit returns how far the auditor is.
	Audit func(ctx context.Context) (Audit, error)
	// Bulk returns how bulk actions stand.
	Bulk func(ctx context.Context) (Bulk, error)
	// Mails counts the mails that wait for the mail server, and returns for how long the
	// oldest has waited.
	Mails func(ctx context.Context) (n int, oldest time.Duration, err error)
	// Unexplained checks some more batches and counts those known that do not add up;
	// it is asked once a minute.
	Unexplained func(ctx context.Context) (int, error)
	// Overdue counts the attempts at files that are overdue, up to a bound; it is asked
	// once a minute.
	Overdue func(ctx context.Context) (int, error)
	// Level is how hard the outbox presses, see eventstore.Level.
	Level func() int
	// Unreadable counts batches and jobs that this process cannot read.
	Unreadable func() int
	// Sessions reports whether this process has a session, and how many it lost.
	Sessions func() (live bool, lost int64)
	// Held counts the aggregates whose events the relay of this process cannot
	// write.
	Held func() int
}

// Lag is how far a copy of the log is behind it.
type Lag struct {
	Events int64
	Age    time.Duration // since the log took the first of them
}

// Audit is how far the auditor is in reading stored objects.
type Audit struct {
	Complete time.Time // when a pass was complete last, zero = the auditor was never started
	// What the pass under way, or the last one, has compared, read and found.
	Objects, Bytes, Findings int64
	Corrupt                  int64 // files that are corrupt, found by any pass
	Replicas                 int64 // copies of versions that are pending
}

// Bulk is how bulk actions stand.
type Bulk struct {
	Waiting, Running int
	Still            time.Duration // since the one that has not gone on for longest last did, 0 = none is open
	Refused          int64         // things, by those that are open or ended within a day
}

const (
	askTime  = 3 * time.Second // for one question
	askAge   = 2 * time.Second // answers younger than this are used again
	countAge = time.Minute     // the same of what costs more
)

// installation collects the metrics of an Installation.
type installation struct {
	Installation
	errors *prometheus.CounterVec
	descs  map[string]*prometheus.Desc

	mu   sync.Mutex
	at   time.Time
	last []prometheus.Metric

	counts []*count
}

// count is a number whose question costs more than others: it is asked again after
// countAge.
type count struct {
	name, metric string
	ask          func(context.Context) (int, error)

	at   time.Time
	last []prometheus.Metric
}

// questions are what a scrape asks, as accession_scrape_errors_total names them.
var questions = []struct {
	name string
	ask  func(*installation, context.Context) ([]prometheus.Metric, error)
}{
	{"live", (*installation).live}, {"permits", (*installation).permits}, {"holds", (*installation).holds}, {"oldest", (*installation).oldest}, {"lag", (*installation).lag},
	{"types", (*installation).types}, {"poison", (*installation).poison}, {"audit", (*installation).audit}, {"bulk", (*installation).bulk}, {"mails", (*installation).mails},
}

// Permits counts the permits that all processes hold.
type Permits struct{ Hosts, Submitters PermitCount }

// PermitCount counts permits of one kind, and the hosts or submitters of which all are taken.
type PermitCount struct{ Taken, Full int }

// Installation adds the metrics that all processes share: every process has the same
// values, so take the maximum.
func (m *Metrics) Installation(in Installation) {
	c := &installation{Installation: in, descs: map[string]*prometheus.Desc{},
		counts: []*count{{name: "unexplained", metric: "accession_batches_unexplained", ask: in.Unexplained}, {name: "overdue", metric: "accession_overdue_files", ask: in.Overdue}},
		errors: m.counters("accession_scrape_errors_total", "Failed queries of a scrape to a server: live, permits, holds, oldest, lag, types, poison, audit, bulk, mails, unexplained or overdue.", "question")}
	for _, d := range []Metric{
		{Name: "accession_queue_jobs", Labels: []string{"state"}, Help: "Jobs in a state, in the whole installation."},
		{Name: "accession_queue_oldest_seconds", Labels: []string{"state"}, Help: "How long the oldest job in a state has been there; 0 = no job is in the state. Not measured for completed jobs."},
		{Name: "accession_batch_oldest_seconds", Labels: []string{"state"}, Help: "Time since the batch that has waited longest in a state last changed, for states that a daemon works on; 0 = no batch is in the state."},
		{Name: "accession_state_unserved", Labels: []string{"aggregate", "state"}, Help: "1 while no process has a worker for batches or jobs in a state: what enters it stands still."},
		{Name: "accession_holds", Labels: []string{"kind"}, Help: "Holds on collections, and pauses of queues, also those that cannot be read."},
		{Name: "accession_hold_oldest_seconds", Labels: []string{"kind"}, Help: "Time since the oldest of them was set; 0 = there is none."},
		{Name: "accession_live_batches", Help: "Batches in ZooKeeper, completed ones until their retention time is over."},
		{Name: "accession_live_jobs", Help: "Jobs in ZooKeeper, in any state, finished ones as long as their batch."},
		{Name: "accession_live_heap_bytes", Help: "How much of ZooKeeper's heap batches, jobs and outbox take, estimated from their numbers."},
		{Name: "accession_live_heap_limit_bytes", Help: "At how many of these bytes deposits are refused: half of zookeeper_heap."},
		{Name: "accession_processes", Help: "Processes with a live session, including commands that only read."},
		{Name: "accession_host_permits", Help: "Permits for servers of depositors that are taken: steps that use one, and some kept for a moment longer; `accession status` names the servers."},
		{Name: "accession_hosts_full", Help: "Servers of depositors that as many steps use as may (host_permits): the rest of their work waits."},
		{Name: "accession_submitter_permits", Help: "Permits for submitters that are taken: steps that work for one, and some kept for a moment longer."},
		{Name: "accession_submitters_full", Help: "Submitters for whom as many steps work as may (submitter_permits): the rest of their work waits; `accession status` names them."},
		{Name: "accession_outbox_unsent", Help: "Nodes of the outbox whose events are not in the log yet; a node holds the events of one or more decisions."},
		{Name: "accession_outbox_oldest_seconds", Help: "How long the oldest of those nodes has waited."},
		{Name: "accession_projection_lag_events", Help: "Events in the log that are not in the tables yet."},
		{Name: "accession_projection_lag_seconds", Help: "Time since the log accepted the first event that is not in the tables yet; 0 = the tables have all events."},
		{Name: "accession_types_lag_events", Help: "Events in the log that the stream by types lacks; missing = there is no such stream."},
		{Name: "accession_types_lag_seconds", Help: "Time since the log accepted the first of them; 0 = the stream has all events."},
		{Name: "accession_poison_events", Help: "Events that could not be applied to the tables, and events that wait behind them; counted up to 1000."},
		{Name: "accession_audit_complete_seconds", Help: "Time since the auditor last completed a pass over all stored objects, or was first started; missing = it was never started."},
		{Name: "accession_audit_objects", Help: "Stored versions compared by the auditor's pass under way, or by its last one."},
		{Name: "accession_audit_bytes", Help: "Bytes of stored files read by that pass."},
		{Name: "accession_audit_findings", Help: "Differences found by that pass; the log of its process has each."},
		{Name: "accession_audit_corrupt_files", Help: "Stored files and storage manifests that are missing or changed, as the auditor found them."},
		{Name: "accession_replicas_pending", Help: "Copies of stored versions that are not complete in the stores that profiles name as replicas."},
		{Name: "accession_bulk_actions", Labels: []string{"state"}, Help: "Bulk actions that have not ended, by state: waiting or running."},
		{Name: "accession_bulk_still_seconds", Help: "Time since the bulk action that has stood still for longest last went on, or was requested; 0 = all have ended."},
		{Name: "accession_mails_waiting", Help: "Mails that wait until the mail server takes them."},
		{Name: "accession_mail_oldest_seconds", Help: "How long the oldest of them has waited; 0 = none waits."},
		{Name: "accession_bulk_refused", Help: "Things that bulk actions could not change: of those that have not ended, and those that ended within a day."},
		{Name: "accession_overdue_files", Help: "Attempts at files that have taken longer than the timeouts and that no sweeper has ended; counted once a minute, up to 1000."},
		{Name: "accession_batches_unexplained", Help: "Batches that do not add up in the tables: the listed jobs are not the sum of those completed, failed, held, deleted and in progress, or a job has no row. Some batches are checked each minute, all in turn; counted up to 1000."},
	} {
		m.note(d.Name, "gauge", d.Help, d.Labels)
		c.descs[d.Name] = prometheus.NewDesc(d.Name, d.Help, d.Labels, nil)
	}
	m.registry.MustRegister(c)
	m.gaugeFunc("accession_outbox_level", "Load of the outbox as last seen by this process: 0 open, 1 warn, 2 full (no deposits are accepted), 3 stop (nothing is claimed or changed).", in.Level)
	m.gaugeFunc("accession_unreadable", "Batches and jobs that this process could not read and has set aside, and holds that it could not read; `accession verify` shows what is wrong with them.", in.Unreadable)
	m.gaugeFunc("accession_session_live", "1 while this process has a ZooKeeper session.", func() int {
		if live, _ := in.Sessions(); live {
			return 1
		}
		return 0
	})
	m.gaugeFunc("accession_relay_held_aggregates", "Batches, jobs and settings whose next event the relay of this process cannot write.", in.Held)
	m.counterFunc("accession_sessions_lost_total", "ZooKeeper sessions lost by this process, with all their claims.", func() int64 {
		_, lost := in.Sessions()
		return lost
	})
}

// Describe implements prometheus.Collector.
func (c *installation) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *installation) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.at) >= askAge {
		c.last, c.at = c.ask(), time.Now()
	}
	for _, m := range c.last {
		to <- m
	}
}

// ask asks all questions at once, and returns the answers that came.
func (c *installation) ask() []prometheus.Metric {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	answers := make([][]prometheus.Metric, len(questions)+len(c.counts))
	var all sync.WaitGroup
	put := func(i int, name string, ask func(context.Context) ([]prometheus.Metric, error)) {
		all.Go(func() {
			list, err := ask(ctx)
			if err != nil {
				c.errors.WithLabelValues(name).Inc()
				return
			}
			answers[i] = list
		})
	}
	for i, q := range questions {
		put(i, q.name, func(ctx context.Context) ([]prometheus.Metric, error) { return q.ask(c, ctx) })
	}
	for i, n := range c.counts {
		put(len(questions)+i, n.name, func(ctx context.Context) ([]prometheus.Metric, error) { return c.count(ctx, n) })
	}
	all.Wait()
	return slices.Concat(answers...)
}

func (c *installation) gauge(name string, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(c.descs[name], prometheus.GaugeValue, v, labels...)
}

func (c *installation) live(ctx context.Context) ([]prometheus.Metric, error) {
	o, err := c.Overview(ctx)
	list := []prometheus.Metric{c.gauge("accession_processes", float64(len(o.Workers))),
		c.gauge("accession_outbox_unsent", float64(o.Outbox.Unsent)), c.gauge("accession_outbox_oldest_seconds", o.Outbox.Oldest.Seconds())}
	list = append(list, c.gauge("accession_live_batches", float64(o.Batches)), c.gauge("accession_live_jobs", float64(o.Jobs)),
		c.gauge("accession_live_heap_bytes", float64(o.Heap)), c.gauge("accession_live_heap_limit_bytes", float64(c.HeapLimit)))
	for _, s := range domain.JobStates {
		list = append(list, c.gauge("accession_queue_jobs", float64(o.Queues[s]), string(s)))
	}
	return append(list, c.unserved(o)...), err
}

func (c *installation) permits(ctx context.Context) ([]prometheus.Metric, error) {
	p, err := c.Permits(ctx)
	return []prometheus.Metric{
		c.gauge("accession_host_permits", float64(p.Hosts.Taken)), c.gauge("accession_hosts_full", float64(p.Hosts.Full)),
		c.gauge("accession_submitter_permits", float64(p.Submitters.Taken)), c.gauge("accession_submitters_full", float64(p.Submitters.Full)),
	}, err
}

// unserved says of each state that has a daemon whether a process works in it.
func (c *installation) unserved(o eventstore.Overview) (list []prometheus.Metric) {
	batches, jobs := o.Unserved()
	say := func(kind domain.Kind, state string, missing bool) {
		n := 0.0
		if missing {
			n = 1
		}
		list = append(list, c.gauge("accession_state_unserved", n, string(kind), state))
	}
	for _, s := range domain.BatchStates {
		if s.Daemon() != "" {
			say(domain.KindBatch, string(s), slices.Contains(batches, s))
		}
	}
	for _, s := range domain.JobStates {
		if s.Daemon() != "" {
			say(domain.KindJob, string(s), slices.Contains(jobs, s))
		}
	}
	return list
}

func (c *installation) holds(ctx context.Context) (list []prometheus.Metric, err error) {
	now, err := c.Holds(ctx)
	for kind, all := range map[domain.SettingKind]map[string]domain.Hold{domain.HoldCollection: now.Collections, domain.HoldQueue: now.Queues} {
		age := 0.0
		for _, h := range all {
			age = max(age, time.Since(h.When.Time).Seconds())
		}
		list = append(list, c.gauge("accession_holds", float64(len(all)), string(kind)), c.gauge("accession_hold_oldest_seconds", age, string(kind)))
	}
	return list, err
}

func (c *installation) oldest(ctx context.Context) (list []prometheus.Metric, err error) {
	jobs, err := c.Oldest(ctx)
	if err != nil {
		return nil, err
	}
	batches, err := c.OldestBatches(ctx)
	age := func(metric, state string, since time.Time) {
		seconds := 0.0
		if !since.IsZero() {
			seconds = max(time.Since(since).Seconds(), 0)
		}
		list = append(list, c.gauge(metric, seconds, state))
	}
	for _, s := range domain.JobStates {
		if s != domain.JobCompleted {
			age("accession_queue_oldest_seconds", string(s), jobs[s])
		}
	}
	for _, s := range domain.BatchStates {
		if s.Daemon() != "" {
			age("accession_batch_oldest_seconds", string(s), batches[s])
		}
	}
	return list, err
}

func (c *installation) lag(ctx context.Context) ([]prometheus.Metric, error) {
	events, age, err := c.Lag(ctx)
	return []prometheus.Metric{c.gauge("accession_projection_lag_events", float64(events)), c.gauge("accession_projection_lag_seconds", age.Seconds())}, err
}

func (c *installation) types(ctx context.Context) ([]prometheus.Metric, error) {
	lag, err := c.Types(ctx)
	if lag == nil || err != nil {
		return nil, err
	}
	return []prometheus.Metric{c.gauge("accession_types_lag_events", float64(lag.Events)), c.gauge("accession_types_lag_seconds", lag.Age.Seconds())}, nil
}

func (c *installation) poison(ctx context.Context) ([]prometheus.Metric, error) {
	n, err := c.Poison(ctx)
	return []prometheus.Metric{c.gauge("accession_poison_events", float64(n))}, err
}

func (c *installation) audit(ctx context.Context) ([]prometheus.Metric, error) {
	a, err := c.Audit(ctx)
	if a.Complete.IsZero() {
		return nil, err
	}
	return []prometheus.Metric{c.gauge("accession_audit_complete_seconds", max(time.Since(a.Complete).Seconds(), 0)), c.gauge("accession_audit_objects", float64(a.Objects)),
		c.gauge("accession_audit_bytes", float64(a.Bytes)), c.gauge("accession_audit_findings", float64(a.Findings)), c.gauge("accession_audit_corrupt_files", float64(a.Corrupt)),
		c.gauge("accession_replicas_pending", float64(a.Replicas))}, err
}

func (c *installation) mails(ctx context.Context) ([]prometheus.Metric, error) {
	n, oldest, err := c.Mails(ctx)
	return []prometheus.Metric{c.gauge("accession_mails_waiting", float64(n)), c.gauge("accession_mail_oldest_seconds", oldest.Seconds())}, err
}

func (c *installation) bulk(ctx context.Context) ([]prometheus.Metric, error) {
	b, err := c.Bulk(ctx)
	return []prometheus.Metric{c.gauge("accession_bulk_actions", float64(b.Waiting), "waiting"), c.gauge("accession_bulk_actions", float64(b.Running), "running"),
		c.gauge("accession_bulk_still_seconds", b.Still.Seconds()), c.gauge("accession_bulk_refused", float64(b.Refused))}, err
}

func (c *installation) count(ctx context.Context, of *count) ([]prometheus.Metric, error) {
	if time.Since(of.at) < countAge {
		return of.last, nil
	}
	n, err := of.ask(ctx)
	if err == nil {
		of.at, of.last = time.Now(), []prometheus.Metric{c.gauge(of.metric, float64(n))}
	}
	return of.last, err
}
