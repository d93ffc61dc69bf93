package ops

import (
	"errors"
	"sync"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/eventstore"
)

// Committed counts one commit to the live state.
func (m *Metrics) Committed(changes []eventstore.Change, took time.Duration, err error) {
	out := outcome(err)
	m.commitSeconds.WithLabelValues(out).Observe(took.Seconds())
	for _, c := range changes {
		switch {
		case c.Job != nil:
			b, a := c.Job.From, c.Job.To
			m.moved(c, string(b.State), string(a.State), out, b.Modified, a.Modified)
			if a.Cleaned {
				m.stays.take(c.Aggregate().String(), a.Modified) // it moves no more
			}
			if err == nil && a.RetryCount > b.RetryCount {
				m.retries.WithLabelValues("job").Inc()
			}
		case c.Batch != nil:
			b, a := c.Batch.From, c.Batch.To
			m.moved(c, string(b.State), string(a.State), out, b.Modified, a.Modified)
		case c.Query != nil:
			b, a := c.Query.From, c.Query.To
			m.moved(c, string(b.State), string(a.State), out, b.Modified, a.Modified)
		case c.Entry != nil:
			if b, a := c.Entry.From, c.Entry.To; b.State != a.State {
				m.moved(c, string(b.State), string(a.State), out, b.Modified, a.Modified)
			}
		default:
			m.transitions.WithLabelValues(string(domain.KindSetting), c.Setting.From.Status(), c.Setting.To.Status(), out).Inc()
		}
	}
}

func (m *Metrics) moved(c eventstore.Change, from, to, out string, before, after domain.Time) {
	a := c.Aggregate()
	m.transitions.WithLabelValues(string(a.Kind), from, to, out).Inc()
	if out != "done" || from == "" {
		return
	}
	if from == to {
		m.stays.keep(a.String(), before)
		return
	}
	m.stateSeconds.WithLabelValues(string(a.Kind), from).Observe(max(after.Sub(m.stays.take(a.String(), before).Time).Seconds(), 0))
}

// stays remembers when batches and jobs came into their state, where an event
// within it has moved the time of their last change. Being forgotten costs a
// measurement that is too small, nothing else.
type stays struct {
	mu    sync.Mutex
	since map[string]int64 // in milliseconds
}

const maxStays = 50_000

func (s *stays) keep(a string, since domain.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.since[a]; !known && len(s.since) < maxStays {
		s.since[a] = since.UnixMilli()
	}
}

func (s *stays) take(a string, since domain.Time) domain.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ms, known := s.since[a]; known {
		delete(s.since, a)
		return domain.At(time.UnixMilli(ms))
	}
	return since
}

// Claimed counts a claim.
func (m *Metrics) Claimed(c *eventstore.Claim, state string) {
	m.claims.WithLabelValues(string(c.Aggregate.Kind), state).Inc()
	if c.Attempts > 1 {
		m.reclaims.WithLabelValues(string(c.Aggregate.Kind), state).Inc()
	}
}

// Step implements daemon.Meter: a daemon's step has ended.
func (m *Metrics) Step(daemon, outcome string, took time.Duration) {
	m.steps.WithLabelValues(daemon, outcome).Inc()
	m.stepSeconds.WithLabelValues(daemon).Observe(took.Seconds())
}

// Effect counts an effect outside of the workflow.
func (m *Metrics) Effect(effect string, err error) {
	out := "done"
	if err != nil {
		out = "failed"
	}
	m.effects.WithLabelValues(effect, out).Inc()
}

// Appended counts one write to the log.
func (m *Metrics) Appended(events []eventstore.Append, took time.Duration, err error) {
	if len(events) == 0 {
		return
	}
	writer := "relay"
	if events[0].Event.Aggregate.Kind == domain.KindFile {
		writer = "files"
	}
	m.appends.WithLabelValues(writer, outcome(err)).Inc()
	m.appendSeconds.WithLabelValues(writer).Observe(took.Seconds())
	if err != nil {
		return
	}
	m.appendEvents.WithLabelValues(writer).Observe(float64(len(events)))
	for _, e := range events {
		m.file(e.Event)
	}
}

func (m *Metrics) file(r domain.Recorded) {
	move, ok := domain.MoveOfFile(r.Data)
	if !ok {
		return
	}
	m.fileTransitions.WithLabelValues(string(move.From), string(move.To)).Inc()
	switch r.Type {
	case domain.EventFileDownloadStarted:
		if move.DownloadAttempts > 1 {
			m.retries.WithLabelValues("download").Inc()
		}
	case domain.EventFileProcessingStarted:
		if move.ProcessingAttempts > 1 {
			m.retries.WithLabelValues("processing").Inc()
		}
	case domain.EventFileDownloaded:
		m.fetchedBytes.Add(float64(move.Size))
	case domain.EventFileProcessed:
		d, ok := r.Data.(*domain.FileDone)
		if !ok || d.Output == nil {
			return
		}
		if _, err := compute.ParseID(d.Output.Key); err != nil { // else the result is that of an entry, in a table
			m.storedBytes.Add(float64(d.Output.Size))
		}
	}
}

// outcome is the answer to a write in one word.
func outcome(err error) string {
	for _, o := range []struct {
		is   error
		word string
	}{{nil, "done"}, {eventstore.ErrFull, "full"}, {eventstore.ErrFenced, "fenced"}, {eventstore.ErrConflict, "conflict"}, {eventstore.ErrUnknown, "unknown"}} {
		if errors.Is(err, o.is) {
			return o.word
		}
	}
	return "error"
}
