package demo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
)

// depositor is a user of the demonstration and how much they deposit.
type depositor struct {
	name     string
	deposits int
}

// depositors are served in turn, the one with more first.
var depositors = []depositor{{"archive", 12}, {"museum", 3}}

// grab is a grab of the demonstration.
type grab struct {
	turn   int64
	user   string
	batch  domain.BatchID
	waited time.Duration
}

// turns lets two depositors of different size wait, and shows how they are served.
func (d *demo) turns(ctx context.Context, base string) error {
	d.step("Two depositors, one with %d deposits and one with %d, each with a key of its own, deposit over HTTP.\nAn operator suspends the queue meanwhile:", depositors[0].deposits, depositors[1].deposits)
	from, err := d.app.LogEnd(ctx)
	if err != nil {
		return err
	}
	if err := d.suspend(ctx, queues.Suspend); err != nil {
		return err
	}
	var first app.Submitted
	for _, of := range depositors {
		key, err := d.key(ctx, of.name, "the demonstration has two depositors")
		if err != nil {
			return err
		}
		if first.Batch != "" {
			if err := d.hidden(ctx, key, first.Batch); err != nil {
				return err
			}
			d.say("to the key of %s, %s of %s does not exist (404)", of.name, first.Batch, depositors[0].name)
		}
		for n := range of.deposits {
			if first, err = d.post(ctx, key, base+samples.SingleFile, fmt.Sprintf("Deposit %d of the %s", n+1, of.name)); err != nil {
				return err
			}
		}
		d.say("%2d deposits of %s: POST %s/v1/submissions", of.deposits, of.name, d.door)
	}
	board, err := queues.ShowBoard(ctx, d.app, fair.QueueMetadata)
	if err != nil {
		return err
	}
	d.step("Who waits, as `accession queue board metadata` shows it:\n")
	views.Board(d.Out, board)
	if err := d.suspend(ctx, queues.Resume); err != nil {
		return err
	}
	grabs, err := d.grabs(ctx, from+1)
	if err != nil {
		return err
	}
	d.step("Resumed, the queue serves them in turn, by the events batch.grabbed:\n")
	d.served(grabs)
	return inTurn(grabs)
}

func (d *demo) suspend(ctx context.Context, do func(context.Context, *app.App, string, string) (app.Changed, error)) error {
	_, err := do(ctx, d.app, fair.QueueMetadata, "the demonstration lets deposits wait")
	return err
}

// grabs returns the grabs of the depositors in their order, once all are reported.
func (d *demo) grabs(ctx context.Context, from uint64) (all []grab, err error) {
	received, reported, want := map[domain.BatchID]time.Time{}, 0, 0
	for _, of := range depositors {
		want += of.deposits
	}
	types := []string{string(domain.EventBatchSubmitted), string(domain.EventBatchGrabbed), string(domain.EventBatchCompleted), string(domain.EventBatchFailed)}
	for e, err := range d.app.Tail(ctx, app.TailOptions{Selection: app.Selection{From: from, Types: types}, Follow: true}) {
		if err != nil {
			return nil, err
		}
		switch data := e.Data.(type) {
		case *domain.BatchSubmitted:
			received[e.Batch] = e.Time.Time
		case *domain.BatchGrabbed:
			all = append(all, grab{data.Ticket.Turn, data.Ticket.User, e.Batch, e.Time.Sub(received[e.Batch])})
		case *domain.BatchReport:
			reported++
		}
		if reported == want {
			break
		}
	}
	slices.SortFunc(all, func(a, b grab) int { return cmp.Compare(a.turn, b.turn) })
	return all, ctx.Err()
}

// served shows the grabs, and how many deposits of each still waited.
func (d *demo) served(grabs []grab) {
	header, left := render.Row{"turn", "user", "batch", "waited"}, map[string]int{}
	for _, of := range depositors {
		header, left[of.name] = append(header, of.name+" waits"), of.deposits
	}
	render.Rows(d.Out, "", header, grabs, func(g grab) render.Row {
		left[g.user]--
		row := render.Row{g.turn, g.user, g.batch, render.Duration(g.waited)}
		for _, of := range depositors {
			row = append(row, left[of.name])
		}
		return row
	})
	d.say("The same in SQL: select turn, user_name, batch_id from report.grab order by turn")
}

// inTurn reports whether a user was served again while the other waited.
func inTurn(grabs []grab) error {
	left := map[string]int{}
	for _, of := range depositors {
		left[of.name] = of.deposits
	}
	for i, g := range grabs {
		left[g.user]--
		if i > 0 && grabs[i-1].user == g.user && len(grabs)-i-1 > left[g.user] {
			return fmt.Errorf("not as intended: turn %d is %s's again while another waits", g.turn, g.user)
		}
	}
	return nil
}
