package wire

import (
	"context"
	"errors"
	"os"

	"github.com/accession-ingest/accession/cmd/internal/attempt"
	"github.com/accession-ingest/accession/cmd/internal/compute"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/ready"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// ComputeLeader returns the leader of the compute queue.
func (in *Installation) ComputeLeader(ctx context.Context) (*compute.Leader, error) {
	l := &compute.Leader{Retention: compute.Retention, Log: in.log.With("role", "compute")}
	var live *LiveState
	var work *store.Work
	var db query.DB
	if err := openAll(ctx, into(&live, in.LiveState), into(&l.Handler, in.Handler), into(&l.Attempts, in.attempts), into(&work, in.Work), into(&db, in.DB)); err != nil {
		return nil, err
	}
	l.Outputs, l.Tables = work.Outputs(), compute.StrandedOf{DB: db}
	l.Lead = func(ctx context.Context) (context.Context, func(), error) { return live.LeadRole(ctx, "compute") }
	return l, nil
}

// endsAttempts returns what ends attempts at files. It opens no contents.
func (in *Installation) endsAttempts(ctx context.Context) (*attempt.Attempts, error) {
	all := &attempt.Attempts{Actor: domain.DaemonActor(compute.Name), Limits: func(ctx context.Context, profile string) (domain.Limits, error) {
		limits, err := in.fileLimits(ctx)
		return limits.Of(profile).Processing, err
	}}
	return all, openAll(ctx, into(&all.Files, in.FileHandler))
}

// ends implements consistency.Attempts. It opens what it writes with only when it is needed: that
// refuses servers which verify reports on, such as an older copy.
type ends struct{ in *Installation }

// Lose implements consistency.Attempts.
func (e ends) Lose(ctx context.Context, f domain.File) error {
	attempts, err := e.in.endsAttempts(ctx)
	if err != nil {
		return err
	}
	return attempts.Lose(ctx, f)
}

// attempts returns what makes the attempts at files.
func (in *Installation) attempts(ctx context.Context) (*attempt.Attempts, error) {
	var all *attempt.Attempts
	var work *store.Work
	var handler *eventstore.Handler
	err := openAll(ctx, into(&all, in.endsAttempts), into(&work, in.Work), into(&handler, in.Handler))
	if err == nil {
		all.Contents, all.Jobs = work.Local(), jobFiles{handler.Live, in}
	}
	return all, err
}

// jobFiles are jobs with their files.
type jobFiles struct {
	eventstore.Live
	in *Installation
}

// Open implements attempt.Jobs: the file is in the working directory that its profile names.
func (j jobFiles) Open(ctx context.Context, f domain.File) (*os.File, error) {
	work, err := j.in.workOf(ctx, f.Spec.Profile)
	if err != nil { // that a directory is not mounted does not say that the file is gone
		return nil, errors.New(err.Error())
	}
	files, err := work.Files(f.Spec.BatchID, f.Spec.JobID)
	if err := errors.Join(err, work.Close()); err != nil {
		return nil, err
	}
	file, err := files.Open(f.Spec.Path)
	return file, errors.Join(err, files.Close())
}

// Requester returns what lets files that are ready wait for workers.
func (in *Installation) Requester(ctx context.Context) (*compute.Requester, error) {
	r := &compute.Requester{Interval: in.cfg.ReadyInterval, Log: in.log.With("role", ready.Name)}
	var live *LiveState
	var db query.DB
	err := openAll(ctx, into(&r.Handler, in.Handler), into(&r.Files, in.FileHandler), into(&live, in.LiveState), into(&db, in.DB))
	r.Tables, r.Rules = compute.ReadyOf{DB: db}, rulesFrom(live)
	return r, err
}

// ComputeWorker opens what a worker of the compute queue needs. Its inputs are fetched under
// the rules of a profile, "" = of none.
func (in *Installation) ComputeWorker(ctx context.Context, w *compute.Worker, profileName string) error {
	var client *fetch.Client
	var records *record.Records
	var work *store.Work
	if err := openAll(ctx, into(&w.Handler, in.Handler), into(&client, in.client), into(&records, in.Records), into(&w.Attempts, in.attempts), into(&work, in.Work)); err != nil {
		return err
	}
	w.Outputs, w.OutputLimit = work.Outputs(), int64(in.cfg.UploadLimit)
	if profileName != "" {
		var set *profile.Set
		if err := openAll(ctx, into(&set, in.profileSet)); err != nil {
			return err
		}
		var err error
		if client, err = withPolicy(client, set, profileName); err != nil {
			return err
		}
	}
	w.Inputs, w.Records, w.Log = client, records, in.log.With("role", "compute")
	return nil
}
