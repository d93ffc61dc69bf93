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
	// Oldest returns the time since which the job has waited that has waited longest
	// in a state.
	Oldest func(ctx context.Context) (map[domain.JobState]time.Time, error)
	// Lag returns how many events the tables lack, and how long ago the log took the
	// first of them.
	Lag func(ctx context.Context) (events int64, age time.Duration, err error)
	// Poison counts the events that the tables could not take, up to a bound.
	Poison func(ctx context.Context) (int, error)
	// Unexplained checks some more batches and counts those known that do not add up;
	// it is asked once a minute.
	Unexplained func(ctx context.Context) (int, error)
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

	countedAt time.Time
	counted   []prometheus.Metric // of batches that do not add up
}

// Installation adds the metrics that all processes share: every process has the same
// values, so take the maximum.
func (m *Metrics) Installation(in Installation) {
	c := &installation{Installation: in, descs: map[string]*prometheus.Desc{},
		errors: m.counters("accession_scrape_errors_total", "Failed queries of a scrape to a server: live, oldest, lag, poison or unexplained.", "question")}
	for _, d := range []Metric{
		{Name: "accession_queue_jobs", Labels: []string{"state"}, Help: "Jobs in a state, in the whole installation."},
		{Name: "accession_queue_oldest_seconds", Labels: []string{"state"}, Help: "How long the oldest job in a state has been there; 0 = no job is in the state. Not measured for completed jobs."},
		{Name: "accession_processes", Help: "Processes with a live session, including commands that only read."},
		{Name: "accession_outbox_unsent", Help: "Nodes of the outbox whose events are not in the log yet; a node holds the events of one or more decisions."},
		{Name: "accession_outbox_oldest_seconds", Help: "How long the oldest of those nodes has waited."},
		{Name: "accession_projection_lag_events", Help: "Events in the log that are not in the tables yet."},
		{Name: "accession_projection_lag_seconds", Help: "Time since the log accepted the first event that is not in the tables yet; 0 = the tables have all events."},
		{Name: "accession_poison_events", Help: "Events that could not be applied to the tables, and events that wait behind them; counted up to 1000."},
		{Name: "accession_batches_unexplained", Help: "Batches that do not add up in the tables: the listed jobs are not the sum of those completed, failed, held, deleted and in progress, or a job has no row. Some batches are checked each minute, all in turn; counted up to 1000."},
	} {
		m.note(d.Name, "gauge", d.Help, d.Labels)
		c.descs[d.Name] = prometheus.NewDesc(d.Name, d.Help, d.Labels, nil)
	}
	m.registry.MustRegister(c)
	m.gaugeFunc("accession_outbox_level", "Load of the outbox as last seen by this process: 0 open, 1 warn, 2 full (no deposits are accepted), 3 stop (nothing is claimed or changed).", in.Level)
	m.gaugeFunc("accession_unreadable", "Batches and jobs that this process could not read and has set aside; `accession verify` shows what is wrong with them.", in.Unreadable)
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
	answers := make([][]prometheus.Metric, 5)
	var all sync.WaitGroup
	for i, q := range []struct {
		name string
		ask  func(context.Context) ([]prometheus.Metric, error)
	}{{"live", c.live}, {"oldest", c.oldest}, {"lag", c.lag}, {"poison", c.poison}, {"unexplained", c.unexplained}} {
		all.Go(func() {
			list, err := q.ask(ctx)
			if err != nil {
				c.errors.WithLabelValues(q.name).Inc()
				return
			}
			answers[i] = list
		})
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
	for _, s := range domain.JobStates {
		list = append(list, c.gauge("accession_queue_jobs", float64(o.Queues[s]), string(s)))
	}
	return list, err
}

func (c *installation) oldest(ctx context.Context) (list []prometheus.Metric, err error) {
	since, err := c.Oldest(ctx)
	for _, s := range domain.JobStates {
		age := 0.0
		if t, some := since[s]; some {
			age = max(time.Since(t).Seconds(), 0)
		}
		if s != domain.JobCompleted {
			list = append(list, c.gauge("accession_queue_oldest_seconds", age, string(s)))
		}
	}
	return list, err
}

func (c *installation) lag(ctx context.Context) ([]prometheus.Metric, error) {
	events, age, err := c.Lag(ctx)
	return []prometheus.Metric{c.gauge("accession_projection_lag_events", float64(events)), c.gauge("accession_projection_lag_seconds", age.Seconds())}, err
}

func (c *installation) poison(ctx context.Context) ([]prometheus.Metric, error) {
	n, err := c.Poison(ctx)
	return []prometheus.Metric{c.gauge("accession_poison_events", float64(n))}, err
}

func (c *installation) unexplained(ctx context.Context) ([]prometheus.Metric, error) {
	if time.Since(c.countedAt) < countAge {
		return c.counted, nil
	}
	n, err := c.Unexplained(ctx)
	if err == nil {
		c.countedAt, c.counted = time.Now(), []prometheus.Metric{c.gauge("accession_batches_unexplained", float64(n))}
	}
	return c.counted, err
}
