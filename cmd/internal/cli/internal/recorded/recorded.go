// Package recorded reads the arrivals of deposits from events that were written as lines
// of JSON.
package recorded

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair/simulate"
)

// event is what is read of an event.
type event struct {
	Time    domain.Time      `json:"time"`
	Type    domain.EventType `json:"type"`
	Subject string           `json:"subject"`
	Data    struct {
		Submission domain.Submission `json:"submission"`
		Ticket     *domain.Ticket    `json:"ticket"`
	} `json:"data"`
}

// batch is what the events say of a batch.
type batch struct {
	user                     string
	size                     int64
	received, grabbed, ended time.Time
}

// apply applies an event; a nil batch is not known yet, or is synchronous: it has never
// waited.
func (b *batch) apply(e event) *batch {
	waits := e.Data.Ticket.Waits()
	switch {
	case e.Type == domain.EventBatchSubmitted && e.Data.Ticket.Pooled():
		return nil
	case e.Type == domain.EventBatchSubmitted && b == nil:
		b = &batch{user: e.Data.Submission.Submitter, size: e.Data.Submission.Size, received: e.Time.Time}
		if waits {
			b.user = e.Data.Ticket.User
		}
	case b == nil || !b.ended.IsZero():
	case e.Type == domain.EventBatchReleased && waits:
		b.received, b.grabbed = e.Time.Time, time.Time{}
	case e.Type == domain.EventBatchGrabbed:
		b.grabbed = e.Time.Time
	case e.Type == domain.EventBatchCompleted || e.Type == domain.EventBatchFailed:
		b.ended = e.Time.Time
	}
	return b
}

// arrival returns the deposit, with the time since the first one. One that was grabbed has
// taken a server from then on.
func (b *batch) arrival(first time.Time) simulate.Arrival {
	a := simulate.Arrival{User: b.user, Size: b.size, At: b.received.Sub(first), Service: max(b.ended.Sub(b.received), 0)}
	if !b.grabbed.IsZero() {
		a.Grabbed, a.Waited, a.Service = true, max(b.grabbed.Sub(b.received), 0), max(b.ended.Sub(b.grabbed), 0)
	}
	return a
}

// Arrivals reads the batches that were submitted and reported: their users, when they
// arrived after the first, and how long it took from the grab, or from the submission if
// there is none, until the first report. A batch that was released to wait again arrives
// then. left counts those without a report. An error names the line.
func Arrivals(r io.Reader) (arrivals []simulate.Arrival, left int, err error) {
	var batches []*batch
	of := map[string]*batch{}
	lines := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, end := lines.ReadBytes('\n')
		if end != nil && !errors.Is(end, io.EOF) {
			return nil, 0, end
		}
		if len(line) > 0 {
			var e event
			if err := json.Unmarshal(line, &e); err != nil || e.Type == "" || e.Subject == "" {
				return nil, 0, fmt.Errorf("line %d is no event: give the output of `accession replay --format jsonl` or `accession events ls -o json`", n)
			}
			was := of[e.Subject]
			if b := was.apply(e); b != was {
				of[e.Subject], batches = b, append(batches, b)
			}
		}
		if end != nil {
			break
		}
	}
	batches = slices.DeleteFunc(batches, func(b *batch) bool {
		if b.ended.IsZero() {
			left++
		}
		return b.ended.IsZero()
	})
	if len(batches) == 0 {
		return nil, 0, errors.New("no batch in it was submitted and reported: select batch.submitted, batch.completed and batch.failed over a longer time")
	}
	first := slices.MinFunc(batches, func(a, b *batch) int { return a.received.Compare(b.received) }).received
	for _, b := range batches {
		arrivals = append(arrivals, b.arrival(first))
	}
	return arrivals, left, nil
}
