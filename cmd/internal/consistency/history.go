package consistency

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// maxEventRows is how many rows of the history are named.
const maxEventRows = 100

// historyCheck compares the history in the tables with the log, event by event, while
// the log is read for the fold: as far as both went when it began.
type historyCheck struct {
	c     *checker
	to    uint64
	pages chan eventPage // from a goroutine that reads ahead
	stop  context.CancelFunc
	page  []query.Stored // what is left of the one at hand
	bad   int
}

// eventPage is some rows of the history, in order; an empty one is the last.
type eventPage struct {
	rows []query.Stored
	err  error
}

// newHistoryCheck begins to read the tables. nil = there are no tables to compare.
func (c *checker) newHistoryCheck(ctx context.Context) (*historyCheck, error) {
	if c.DB == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	t := query.Tables{DB: c.DB}
	at, err := t.Checkpoint(ctx)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	h := &historyCheck{c: c, to: min(at.Seq, c.last), pages: make(chan eventPage, 2), stop: stop}
	go h.read(ctx, t)
	return h, nil
}

// read sends the history page by page.
func (h *historyCheck) read(ctx context.Context, t query.Tables) {
	defer close(h.pages)
	for from := uint64(1); ; {
		rows, err := t.Events(ctx, from, rowsAPage)
		select {
		case h.pages <- eventPage{rows, err}:
		case <-ctx.Done():
			return
		}
		if err != nil || len(rows) == 0 {
			return
		}
		from = uint64(rows[len(rows)-1].Seq) + 1
	}
}

// close ends the reading of the tables, and reports what was not named.
func (h *historyCheck) close() {
	h.stop()
	for range h.pages { //nolint:revive // until the goroutine has ended
	}
	if h.bad > maxEventRows {
		h.c.report(finding(EventRowWrong, "", "event", "", fmt.Sprintf("%d more", h.bad-maxEventRows)))
	}
}

// row returns the next row, nil = there is no other.
func (h *historyCheck) row() (*query.Stored, error) {
	if len(h.page) == 0 {
		p := <-h.pages
		if p.err != nil || len(p.rows) == 0 {
			return nil, p.err
		}
		h.page = p.rows
	}
	return &h.page[0], nil
}

func (h *historyCheck) wrong(seq uint64, want, got string) {
	if h.bad++; h.bad <= maxEventRows {
		h.c.report(finding(EventRowWrong, "", fmt.Sprintf("event %d", seq), want, got))
	}
}

// compare compares the next event of the log with its row.
func (h *historyCheck) compare(r domain.Recorded) error {
	if r.Seq > h.to || h.c.poison[r.Aggregate] != "" {
		return nil
	}
	row, err := h.row()
	for ; row != nil && row.Seq < int64(r.Seq); row, err = h.row() {
		if h.c.poison[domain.Aggregate{Kind: domain.Kind(row.Kind), ID: row.Aggregate}] == "" {
			h.wrong(uint64(row.Seq), absent, row.ID)
		}
		h.page = h.page[1:]
	}
	if err != nil {
		return err
	}
	if row == nil || row.Seq > int64(r.Seq) {
		h.wrong(r.Seq, r.ID(), absent)
		return nil
	}
	if !sameEvent(r, row) {
		if want, got := flat(r), flatRow(*row, r.Stored); want != got {
			want, got = narrow(want, got)
			h.wrong(r.Seq, want, got)
		}
	}
	first := row.ID
	h.page = h.page[1:]
	if row, err = h.row(); err == nil && row != nil && row.Seq == int64(r.Seq) {
		h.wrong(r.Seq, "one event", first+" and "+row.ID)
		h.page = h.page[1:]
	}
	return err
}

// sameEvent reports whether an event and its row are equal. false may also mean that
// this is not known: then their texts are compared, which takes much longer.
func sameEvent(r domain.Recorded, s *query.Stored) bool {
	if s.ID != r.ID() || s.Type != string(r.Type) || s.BatchID != string(r.BatchID) || s.Actor != string(r.Actor) ||
		s.Command != r.CommandID || s.Causation != r.CausationID || s.TraceCtx != r.TraceParent || s.Zxid != r.Zxid || s.Epoch != r.Epoch ||
		!s.Time.Equal(r.Time.Time) || s.At.Sub(r.Stored).Abs() > time.Microsecond {
		return false
	}
	data, err := json.Marshal(r.Data)
	return err == nil && sameJSON(data, s.Data)
}

// flatEvent is an event as it is compared.
type flatEvent struct {
	ID, Type, Batch, Actor, Command, Cause, Trace string
	Zxid, Epoch                                   int64
	Time, Stored                                  time.Time
	Data                                          any
}

// String returns the event as normal JSON.
func (e flatEvent) String() string {
	text, err := normalOf(e)
	if err != nil {
		return err.Error()
	}
	return text
}

func flat(r domain.Recorded) string {
	return flatEvent{r.ID(), string(r.Type), string(r.BatchID), string(r.Actor), r.CommandID, r.CausationID, r.TraceParent,
		r.Zxid, r.Epoch, r.Time.UTC(), r.Stored.UTC(), r.Data}.String()
}

// flatRow is flat for a row, which keeps microseconds.
func flatRow(s query.Stored, stored time.Time) string {
	if s.At.Sub(stored).Abs() <= time.Microsecond {
		s.At = stored
	}
	var data any
	if err := json.Unmarshal(s.Data, &data); err != nil {
		data = string(s.Data)
	}
	return flatEvent{s.ID, s.Type, s.BatchID, s.Actor, s.Command, s.Causation, s.TraceCtx, s.Zxid, s.Epoch, s.Time.UTC(), s.At.UTC(), data}.String()
}
