package consistency

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections"
)

// maxEventRows is how many rows of the history are named before it is enough.
const maxEventRows = 100

// events compares the history in the tables with the log, event by event, as far as
// both go.
func (c *checker) events(ctx context.Context, t projections.Tables) error {
	at, err := t.Checkpoint(ctx)
	to := min(at.Seq, c.last)
	if err != nil || to == 0 {
		return err
	}
	rows := pager{t: t, next: 1}
	bad := 0
	wrong := func(where uint64, want, got string) {
		if bad++; bad <= maxEventRows {
			c.found(finding(EventRowWrong, "", fmt.Sprintf("event %d", where), want, got))
		}
	}
	for r, err := range c.Log.Read(ctx, eventstore.ReadOptions{To: to}) {
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		if r.Seq%1000 == 0 {
			c.tell("comparing the history", int(r.Seq), int(to))
		}
		if c.poison[r.Aggregate] != "" {
			continue
		}
		for {
			row, ok, err := rows.peek(ctx)
			if err != nil {
				return err
			}
			if !ok || row.Seq > int64(r.Seq) {
				wrong(r.Seq, r.ID(), absent)
				break
			}
			rows.take()
			if row.Seq < int64(r.Seq) {
				if c.poison[domain.Aggregate{Kind: domain.Kind(row.Kind), ID: row.Aggregate}] == "" {
					wrong(uint64(row.Seq), absent, row.ID)
				}
				continue
			}
			if want, got := textOf(r), textOfRow(row, r.Stored); want != got {
				want, got = narrow(want, got)
				wrong(r.Seq, want, got)
			}
			if twin, ok, err := rows.peek(ctx); err != nil {
				return err
			} else if ok && twin.Seq == row.Seq {
				rows.take()
				wrong(r.Seq, "one event", row.ID+" and "+twin.ID)
			}
			break
		}
	}
	if bad > maxEventRows {
		c.found(finding(EventRowWrong, "", "event", "", fmt.Sprintf("%d more", bad-maxEventRows)))
	}
	return nil
}

// whole is an event as it is compared.
type whole struct {
	ID, Type, Batch, Actor, Command, Cause, Trace string
	Zxid, Epoch                                   int64
	Time, Stored                                  time.Time
	Data                                          any
}

func textOf(r domain.Recorded) string {
	w, err := plainOf(whole{r.ID(), string(r.Type), string(r.BatchID), string(r.Actor), r.CommandID, r.CausationID, r.TraceParent,
		r.Zxid, r.Epoch, r.Time.UTC(), r.Stored.UTC(), r.Data})
	if err != nil {
		return err.Error()
	}
	return w
}

// textOfRow is textOf for a row. PostgreSQL rounds to microseconds.
func textOfRow(s projections.Stored, stored time.Time) string {
	if s.At.Sub(stored).Abs() <= time.Microsecond {
		s.At = stored
	}
	var data any
	if err := json.Unmarshal(s.Data, &data); err != nil {
		data = string(s.Data)
	}
	w, err := plainOf(whole{s.ID, s.Type, s.BatchID, s.Actor, s.Command, s.Causation, s.TraceCtx, s.Zxid, s.Epoch, s.Time.UTC(), s.At.UTC(), data})
	if err != nil {
		return err.Error()
	}
	return w
}

// pager reads the history in the tables page by page.
type pager struct {
	t    projections.Tables
	next uint64
	rows []projections.Stored
	end  bool
}

func (p *pager) peek(ctx context.Context) (projections.Stored, bool, error) {
	if len(p.rows) == 0 && !p.end {
		var err error
		if p.rows, err = p.t.Events(ctx, p.next, rowsAPage); err != nil {
			return projections.Stored{}, false, err
		}
		p.end = len(p.rows) < rowsAPage
		if len(p.rows) > 0 {
			p.next = uint64(p.rows[len(p.rows)-1].Seq) + 1
		}
	}
	if len(p.rows) == 0 {
		return projections.Stored{}, false, nil
	}
	return p.rows[0], true, nil
}

func (p *pager) take() { p.rows = p.rows[1:] }
