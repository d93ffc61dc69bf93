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
	} `json:"data"`
}

// Arrivals reads the batches that were submitted and reported: their submitters, when
// they arrived after the first, and how long it took until the first report was made.
// left counts those without a report. An error names the line.
func Arrivals(r io.Reader) (arrivals []simulate.Arrival, left int, err error) {
	type batch struct {
		user             string
		submitted, ended time.Time
	}
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
			switch b := of[e.Subject]; e.Type {
			case domain.EventBatchSubmitted:
				if b == nil {
					b = &batch{user: e.Data.Submission.Submitter, submitted: e.Time.Time}
					of[e.Subject], batches = b, append(batches, b)
				}
			case domain.EventBatchCompleted, domain.EventBatchFailed:
				if b != nil && b.ended.IsZero() {
					b.ended = e.Time.Time
				}
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
	first := slices.MinFunc(batches, func(a, b *batch) int { return a.submitted.Compare(b.submitted) }).submitted
	for _, b := range batches {
		arrivals = append(arrivals, simulate.Arrival{User: b.user, At: b.submitted.Sub(first), Service: max(b.ended.Sub(b.submitted), 0)})
	}
	return arrivals, left, nil
}
