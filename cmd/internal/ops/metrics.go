package ops

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are the numbers of one process. Its methods may be called by many
// goroutines.
type Metrics struct {
	registry *prometheus.Registry
	register promauto.Factory // with the registry
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

// NewMetrics returns the metrics of a process.
func NewMetrics() *Metrics {
	registry := prometheus.NewRegistry()
	m := &Metrics{registry: registry, register: promauto.With(registry), stays: stays{since: map[string]int64{}}}
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	m.transitions = m.counters("accession_transitions_total", "Transitions requested by this process, by outcome: done, conflict, fenced, full, unknown or error. from and to are equal for an event that does not change the state.",
		"aggregate", "from", "to", "outcome")
	m.stateSeconds = m.histograms("accession_state_seconds", "How long batches and jobs were in a state when this process moved them on, by the writers' clocks.", workSeconds, "aggregate", "state")
	m.commitSeconds = m.histograms("accession_commit_seconds", "Duration of commits to ZooKeeper.", answerSeconds, "outcome")
	m.claims = m.counters("accession_claims_total", "Claims made by this process, including hand-overs from the previous state.", "aggregate", "state")
	m.reclaims = m.counters("accession_claims_again_total", "Claims of work whose previous worker died.", "aggregate", "state")
	m.steps = m.counters("accession_steps_total", "Steps of daemons that ended in this process, by outcome: moved, failed, waits, retried, handed_back (released) or cut_off.", "daemon", "outcome")
	m.stepSeconds = m.histograms("accession_step_seconds", "Duration of steps of daemons.", workSeconds, "daemon")

	m.fileTransitions = m.counters("accession_file_transitions_total", "Transitions of files written by this process.", "from", "to")
	m.fetchedBytes = m.counter("accession_fetched_bytes_total", "Bytes of files that were downloaded successfully.")
	m.storedBytes = m.counter("accession_stored_bytes_total", "Bytes of files written to the object store.")
	m.retries = m.counters("accession_retries_total", "Attempts after the first: downloads and processing of files, and requeued jobs.", "of")
	m.effects = m.counters("accession_effects_total", "Effects outside the workflow, by outcome (done or failed): identifier reserved, object added to the inventory, message (mail or callback) sent.", "effect", "outcome")

	m.appends = m.counters("accession_log_appends_total", "Writes to the log, by writer (the relay, or events of files) and outcome: done, conflict, unknown or error.", "writer", "outcome")
	m.appendEvents = m.histograms("accession_log_append_events", "Events per write to the log.", batchSizes, "writer")
	m.appendSeconds = m.histograms("accession_log_append_seconds", "Duration of writes to the log.", answerSeconds, "writer")

	m.restarts = m.counters("accession_role_restarts_total", "Restarts of roles of this process that ended by themselves.", "role")
	return m
}

// List describes every metric of ours, in the order in which they were made.
func (m *Metrics) List() []Metric { return m.list }

// Build says which program this is.
func (m *Metrics) Build(version, instance string) {
	const name, help = "accession_build_info", "Always 1; the labels are the version of the program and the name of the installation."
	labels := []string{"version", "instance"}
	m.note(name, "gauge", help, labels)
	m.register.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels).WithLabelValues(version, instance).Set(1)
}

// Discoveries counts the discoveries of known files.
func (m *Metrics) Discoveries(known func() int64) {
	m.counterFunc("accession_duplicate_discoveries_total", "Discoveries of files that were already known; nothing was written.", known)
}

// Restarted counts that a role ended by itself.
func (m *Metrics) Restarted(role string) { m.restarts.WithLabelValues(role).Inc() }

func (m *Metrics) note(name, kind, help string, labels []string) {
	m.list = append(m.list, Metric{Name: name, Type: kind, Help: help, Labels: labels})
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	m.note(name, "counter", help, nil)
	return m.register.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	m.note(name, "counter", help, labels)
	return m.register.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func (m *Metrics) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	m.note(name, "histogram", help, labels)
	return m.register.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

// counterFunc registers a counter that is read when it is asked for.
func (m *Metrics) counterFunc(name, help string, count func() int64) {
	m.note(name, "counter", help, nil)
	m.register.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(count()) })
}

// gaugeFunc registers a gauge that is read when it is asked for.
func (m *Metrics) gaugeFunc(name, help string, value func() int) {
	m.note(name, "gauge", help, nil)
	m.register.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
}
