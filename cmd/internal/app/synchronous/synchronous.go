// Package synchronous has the use case of a depositor who waits for the answer: the deposit
// waits in no queue, and the answer is its report.
package synchronous

import (
	"cmp"
	"context"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// Limits of an answer.
const (
	// DefaultWait and MaxWait are how long a depositor waits for the end, MaxListed is how
	// much of each list the report has.
	DefaultWait = time.Minute
	MaxWait     = 24 * time.Hour
	MaxListed   = 1000 // jobs, failed attempts and records
	// tablesWait is how long the answer waits for the tables once the batch is at rest.
	tablesWait = 10 * time.Second
)

// Answer is what became of a synchronous deposit.
type Answer struct {
	app.Submitted
	State domain.BatchState `json:"status"`
	// Done says that the batch is at rest. If not, the deadline is over, and the batch goes on.
	Done     bool         `json:"done"`
	Progress app.Progress `json:"progress"`
	// Report is the report of the batch, null = it is not done, or not known.
	Report *app.BatchReportView `json:"report,omitempty"`
	// Unknown says why no more is known of it, such as a server that does not answer.
	Unknown string `json:"unknown,omitempty"`
}

// Submit submits a deposit that runs at once, and waits for its end, at most so long; 0 =
// [DefaultWait].
// accepted is called when the batch is there.
func Submit(ctx context.Context, a *app.App, d app.Deposit, wait time.Duration, accepted func(app.Submitted)) (is Answer, err error) {
	end, err := a.LogEnd(ctx)
	if err != nil {
		return is, err
	}
	d.Synchronous = true
	if is.Submitted, err = a.Submit(ctx, d); err != nil {
		return is, err
	}
	accepted(is.Submitted)
	from := end + 1
	if is.Again {
		from = 0 // its events may be older
	}
	is.Await(ctx, wait, func(ctx context.Context, seen func(app.Event, app.Progress)) (app.Progress, error) {
		return a.Watch(ctx, is.Batch, from, seen)
	}, func(ctx context.Context) (app.BatchReportView, error) {
		if err := a.WaitProjected(ctx, is.Batch, is.Progress.Version); err != nil {
			return app.BatchReportView{}, err
		}
		return a.BatchReport(ctx, is.Batch, MaxListed)
	})
	return is, ctx.Err()
}

// Await completes the answer to a deposit that was accepted, whatever is known of it: watch
// follows its batch until that is at rest, and report reads its report, once the tables have
// it. 0 = [DefaultWait].
func (is *Answer) Await(ctx context.Context, wait time.Duration, watch func(ctx context.Context, seen func(app.Event, app.Progress)) (app.Progress, error),
	report func(ctx context.Context) (app.BatchReportView, error),
) {
	is.State = domain.BatchPending
	until, cancel := context.WithTimeout(ctx, cmp.Or(wait, DefaultWait))
	defer cancel()
	now, err := watch(until, func(_ app.Event, now app.Progress) { is.Progress = now })
	if err == nil {
		is.Done, is.Progress = true, now
	} else if until.Err() != nil && ctx.Err() == nil {
		err = nil // the deadline is over
	}
	if is.Progress.State != domain.BatchNone {
		is.State = is.Progress.State
	}
	if is.Done {
		late, cancel := context.WithTimeout(ctx, tablesWait)
		defer cancel()
		var v app.BatchReportView
		if v, err = report(late); err == nil {
			is.Report = &v
		}
	}
	if err != nil {
		is.Unknown = err.Error()
	}
}
