package compute

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/domain/setting"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/projections/query"
)

// Ready finds files; [ReadyOf] is one.
type Ready interface {
	// Ready lists files without a job that are READY, as [query.ReadyFiles] does.
	Ready(ctx context.Context, after domain.FileHash, limit int) ([]query.WaitingFile, error)
}

// ReadyOf are the tables in PostgreSQL.
type ReadyOf struct{ DB query.DB }

// Ready implements Ready.
func (t ReadyOf) Ready(ctx context.Context, after domain.FileHash, limit int) ([]query.WaitingFile, error) {
	return query.ReadyFiles(ctx, t.DB, after, limit)
}

// Requester requests an entry for each file that is READY, if the rules of its dataset let
// workers process it. Any number of processes may do so: the key of the entry is that of the
// attempt, so that there is one.
type Requester struct {
	Handler *eventstore.Handler
	Files   *files.Handler
	Tables  Ready
	// Rules returns the rules of a dataset as they are now.
	Rules    func(ctx context.Context, dataset string) (setting.Rules, error)
	Interval time.Duration // of Run, from the end of a pass to the next; above 0
	Log      *slog.Logger

	asked map[domain.FileHash]asked
}

// asked is what this process has requested for a file: the tables show the file as READY for
// a while after that.
type asked struct {
	version int64
	at      time.Time
}

const (
	// filePage is how many files are looked at at once.
	filePage = 500
	// askAgain is after how long a file that is still READY is asked for again, in case its
	// entry has ended without it.
	askAgain = time.Minute
)

// Run makes a pass at once and after each interval, until ctx ends.
func (r *Requester) Run(ctx context.Context) error {
	failed := false
	for {
		n, err := r.Once(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil && !failed:
			r.Log.Warn("files that are ready cannot be given to workers now; it is tried again", "error", err)
		case n > 0:
			r.Log.Info("files wait for workers", "files", n)
		}
		failed = err != nil
		select {
		case <-time.After(r.Interval):
		case <-ctx.Done():
			return nil
		}
	}
}

// Once makes a pass, and returns for how many files it has requested entries.
func (r *Requester) Once(ctx context.Context) (n int, err error) {
	before := r.asked
	r.asked = map[domain.FileHash]asked{}
	rules := map[string]setting.Rules{}
	for after := domain.FileHash(""); ; {
		found, err := r.Tables.Ready(ctx, after, filePage)
		if err != nil || len(found) == 0 {
			return n, err
		}
		for _, f := range found {
			if a, is := before[f.Hash]; is && a.version == f.Version && time.Since(a.at) < askAgain {
				r.asked[f.Hash] = a
				continue
			}
			rule, known := rules[f.Dataset]
			if !known {
				if rule, err = r.Rules(ctx, f.Dataset); err != nil {
					return n, err
				}
				rules[f.Dataset] = rule
			}
			if rule.Process == nil || f.Dataset == "" {
				continue
			}
			made, err := r.request(ctx, f.Hash, *rule.Process)
			if err != nil {
				return n, fmt.Errorf("request the entry of file %s: %w", f.Hash, err)
			}
			if made {
				n++
			}
			r.asked[f.Hash] = asked{f.Version, time.Now()}
		}
		if len(found) < filePage {
			return n, nil
		}
		after = found[len(found)-1].Hash
	}
}

// request requests the entry of a file, if the file is READY, and reports whether it was not
// there.
func (r *Requester) request(ctx context.Context, hash domain.FileHash, p setting.Process) (made bool, err error) {
	is, err := r.Files.FromLog(ctx, []domain.FileHash{hash})
	f := is[hash]
	if err != nil || f.State != domain.FileReady {
		return false, err // the tables were behind
	}
	a := compute.NextAttempt(f)
	cmd := compute.Request{Work: entry.Work{Dataset: f.Spec.Dataset, Group: f.Spec.Group, Priority: entry.DefaultPriority, Key: a.Key()},
		Request: entry.Request{Submitter: Name, Inputs: []string{a.Input()}}}
	if p.Priority != nil {
		cmd.Work.Priority = entry.Priority(*p.Priority)
	}
	var res eventstore.Result[compute.Entry]
	err = crash.Around("compute/file/request", func() error {
		res, err = r.Handler.RequestEntry(ctx, cmd, meta())
		return err
	})
	switch {
	case err != nil:
		return false, err
	case len(res.Events) > 0:
		return true, nil
	}
	return r.again(ctx, f, res.State)
}

// again lets an entry wait again that has ended, while its file has not: its attempt was
// given back, or an operator has reset the attempts.
func (r *Requester) again(ctx context.Context, f domain.File, e compute.Entry) (bool, error) {
	var cmd compute.Command
	switch e.State {
	case entry.Failed:
		cmd = compute.Retry{Reason: &domain.Reason{Class: domain.ClassWait, Code: domain.CodeRetried, Message: "its file is ready again"}}
	case entry.Successful:
		cmd = compute.Purge{} // the next pass requests another one
	default:
		return false, nil
	}
	// The file may have gone on since: then its entry has ended for good.
	is, err := r.Files.FromLog(ctx, []domain.FileHash{f.Hash})
	if err != nil || is[f.Hash].Version != f.Version {
		return false, err
	}
	_, err = r.Handler.Entry(ctx, e.ID, cmd, meta())
	return err == nil, but(err, eventstore.ErrNotFound, eventstore.ErrBroken)
}
