package ops

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics are the numbers of one process. Its methods may be called by many
// goroutines.
type Metrics struct {
	registry *prometheus.Registry
	list     []Metric
	stays    stays

	transitions   *prometheus.CounterVec
	stateSeconds  *prometheus.HistogramVec
	commitSeconds *prometheus.HistogramVec
	claims        *prometheus.CounterVec
	reclaims      *prometheus.CounterVec
	steps         *prometheus.CounterVec
	stepSeconds   *prometheus.HistogramVec

	fileTransitions *prometheus.CounterVec
	fetchedBytes    prometheus.Counter
	storedBytes     prometheus.Counter
	retries         *prometheus.CounterVec
	effects         *prometheus.CounterVec

	appends       *prometheus.CounterVec
	appendEvents  *prometheus.HistogramVec
	appendSeconds *prometheus.HistogramVec

	restarts *prometheus.CounterVec
}

// Metric describes one metric for the documentation.
type Metric struct {
	Name, Type, Help string
	Labels           []string
}

// The bounds of histograms: of work on a job, from moments to a week; of answers
// of a server; of how much travels together.
var (
	workSeconds   = []float64{.1, .5, 1, 5, 15, 60, 300, 1800, 7200, 28800, 86400, 604800}
	answerSeconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	batchSizes    = []float64{1, 2, 5, 10, 25, 50, 100, 250, 500, 1000}
)

// NewMetrics makes the metrics of a process.
func NewMetrics() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.stays.since = map[string]int64{}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	m.transitions = m.counters("accession_transitions_total", "Transitions that this process asked for, by what came of it: done, conflict, fenced, full, unknown or error. from and to are equal for an event within a state.",
		"aggregate", "from", "to", "outcome")
	m.stateSeconds = m.histograms("accession_state_seconds", "How long batches and jobs were in a state that they left through this process, by the writers' clocks.", workSeconds, "aggregate", "state")
	m.commitSeconds = m.histograms("accession_commit_seconds", "How long a commit to ZooKeeper took.", answerSeconds, "outcome")
	m.claims = m.counters("accession_claims_total", "Claims that this process made, those included that came with the end of the state before.", "aggregate", "state")
	m.reclaims = m.counters("accession_claims_again_total", "Claims of work whose worker died before.", "aggregate", "state")
	m.steps = m.counters("accession_steps_total", "Steps of daemons that ended here: moved, failed, waits, retried, handed_back or cut_off.", "daemon", "outcome")
	m.stepSeconds = m.histograms("accession_step_seconds", "How long a step of a daemon took.", workSeconds, "daemon")

	m.fileTransitions = m.counters("accession_file_transitions_total", "Transitions of files that this process wrote.", "from", "to")
	m.fetchedBytes = m.counter("accession_fetched_bytes_total", "Bytes of files whose download ended well.")
	m.storedBytes = m.counter("accession_stored_bytes_total", "Bytes of files that were put into the object store.")
	m.retries = m.counters("accession_retries_total", "Attempts that were not the first: downloads and processings of files, and jobs that were requeued.", "of")
	m.effects = m.counters("accession_effects_total", "Effects outside of the workflow: identifier reserved, object in the inventory, message (mail or callback) sent; done or failed.", "effect", "outcome")

	m.appends = m.counters("accession_log_appends_total", "Writes to the log, by the relay or of files; done, conflict, unknown or error.", "writer", "outcome")
	m.appendEvents = m.histograms("accession_log_append_events", "Events in one write to the log.", batchSizes, "writer")
	m.appendSeconds = m.histograms("accession_log_append_seconds", "How long a write to the log took.", answerSeconds, "writer")

	m.restarts = m.counters("accession_role_restarts_total", "How often a role of this process ended by itself and was started again.", "role")
	return m
}

// List describes every metric of ours, in the order in which they were made.
func (m *Metrics) List() []Metric { return m.list }

// Build tells which program this is.
func (m *Metrics) Build(version, instance string) {
	m.gauges("accession_build_info", "Always 1; the labels tell which program runs, and for which installation.", "version", "instance").
		WithLabelValues(version, instance).Set(1)
}

// Discoveries tells how many discoveries of files were of known ones.
func (m *Metrics) Discoveries(known func() int64) {
	const name, help = "accession_duplicate_discoveries_total", "Discoveries of files that were known already; nothing was written."
	m.note(name, "counter", help, nil)
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(known()) }))
}

// Restarted counts that a role ended by itself.
func (m *Metrics) Restarted(role string) { m.restarts.WithLabelValues(role).Inc() }

func (m *Metrics) note(name, kind, help string, labels []string) {
	m.list = append(m.list, Metric{Name: name, Type: kind, Help: help, Labels: labels})
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	m.note(name, "counter", help, nil)
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	m.note(name, "counter", help, labels)
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	m.note(name, "gauge", help, labels)
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(g)
	return g
}

func (m *Metrics) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	m.note(name, "histogram", help, labels)
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(h)
	return h
}
