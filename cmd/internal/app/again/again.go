// Package again has the use cases of those who have a file of a dataset downloaded or
// processed once more, or never.
//
// Each of the first two is made of changes that the table of files has, one after the other, since no row
// leads back at once. A command that was cut off between two of them goes on where it
// stopped when it is given again.
package again

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
)

// The codes of the reasons of a file that is to be processed again, and of one that is not to
// be processed.
const (
	codeReprocess domain.Code = "reprocess_requested"
	codeAbandoned domain.Code = "abandoned_by_operator"
)

// Redownload has a file fetched anew: one that is DOWNLOADED (F8), was given up (O1) or was
// skipped (O3 and F8). The copy that is there is put away and not taken again. An attempt
// that was the last one does not end it: it is given up and opened again (F7 and O1).
func Redownload(ctx context.Context, a *app.App, hash domain.FileHash, why string) (app.Changed, error) {
	r := request{a: a, hash: hash, verb: "redownload", code: domain.CodeRedownload, done: []domain.FileState{domain.FileDiscovered, domain.FileDownloadingFailed},
		effect: "it is fetched anew, also if a copy is there"}
	return r.run(ctx, why, func(f domain.File, reason domain.Reason) (domain.FileCommand, error) {
		if f.State == domain.FileIgnore || f.State == domain.FileSkipped {
			return domain.ReopenFile{Reason: reason}, nil
		}
		set, err := a.ReadProfiles(ctx)
		if err != nil {
			return nil, err
		}
		of, err := set.Get(f.Spec.Profile)
		return domain.FailValidation{Reason: reason, Limits: domain.Limits{Max: max(of.Fetch.Attempts, 1)}}, err
	})
}

// Reprocess has a file processed again: one that is PROCESSED (F16 and F15, then O2) or was
// given up (O2).
func Reprocess(ctx context.Context, a *app.App, hash domain.FileHash, why string) (app.Changed, error) {
	r := request{a: a, hash: hash, verb: "reprocess", code: codeReprocess, done: []domain.FileState{domain.FileReady}, effect: "it is ready to be processed again"}
	return r.run(ctx, why, func(f domain.File, reason domain.Reason) (domain.FileCommand, error) {
		if f.State == domain.FileAbandoned {
			return domain.ReopenFile{Reason: reason}, nil
		}
		return domain.FailOutput{Reason: reason}, nil
	})
}

// Abandon ends a file that is ready as abandoned (F11, F13 and F15 in one write): one that came
// after its group was deposited, or that is not to be processed. One that is still to be
// processed with the deposit of its group is refused.
func Abandon(ctx context.Context, a *app.App, hash domain.FileHash, why string) (app.Changed, error) {
	r := request{a: a, hash: hash, verb: "abandon", code: codeAbandoned, class: domain.ClassCancelled, done: []domain.FileState{domain.FileAbandoned},
		effect: "it is not processed; `accession file requeue` undoes it"}
	return r.run(ctx, why, func(f domain.File, reason domain.Reason) (domain.FileCommand, error) {
		cmd := domain.AbandonFile{Reason: reason}
		if f.Spec.Group == "" || f.State != domain.FileReady {
			return cmd, nil
		}
		records, err := a.Open.Records(ctx)
		if err != nil {
			return nil, err
		}
		deposited, err := records.GroupToProcess(ctx, f.Spec.Dataset, f.Spec.Group, hash)
		if err == nil && deposited {
			err = &app.Error{Kind: app.Refused, Err: fmt.Errorf("it is in the deposit of its group %s, and is processed with it", f.Spec.Group),
				Hint: "`accession report reconciliation --dataset " + f.Spec.Dataset + "` says which files of a group are late"}
		}
		return cmd, err
	})
}

// request is a command that needs several changes of a file.
type request struct {
	a            *app.App
	hash         domain.FileHash
	verb, effect string
	code         domain.Code
	class        domain.Class       // of its reason; "" = ClassWait
	done         []domain.FileState // where the changes end
	changed      app.Changed
}

// most is how many changes a request needs at most.
const most = 3

// run carries out the commands that next returns, until the file is where it is to be.
func (r *request) run(ctx context.Context, why string, next func(domain.File, domain.Reason) (domain.FileCommand, error)) (_ app.Changed, err error) {
	defer app.Explained(&err, r.verb+" "+string(r.hash))
	if why = strings.TrimSpace(why); why == "" {
		return app.Changed{}, &app.Error{Kind: app.Invalid, Err: fmt.Errorf("%s needs a reason", r.verb), Hint: "say why with --reason; it stays in the history"}
	}
	reason := domain.Reason{Class: cmp.Or(r.class, domain.ClassWait), Code: r.code, Message: why}
	handler, err := r.a.Open.FileHandler(ctx)
	if err != nil {
		return app.Changed{}, err
	}
	f, err := handler.Load(ctx, r.hash)
	if errors.Is(err, eventstore.ErrNotFound) {
		err = &app.Error{Kind: app.NotFound, Err: errors.New("there is no such file"), Hint: "`accession file ls --dataset D` lists those of a dataset"}
	}
	if err != nil {
		return app.Changed{}, err
	}
	if f.Spec.JobID != "" {
		return app.Changed{}, &app.Error{Kind: app.Refused, Err: fmt.Errorf("it belongs to the job %s", f.Spec.JobID), Hint: "`accession job requeue " + string(f.Spec.JobID) + "` has the files of a failed job fetched again"}
	}
	r.changed = app.Changed{Target: target.Of(r.hash.Aggregate()), From: string(f.State), DryRun: r.a.DryRun, Effects: []string{r.effect}}
	begun := r.a.CommandID() != "" && strings.HasPrefix(f.CommandID, r.a.CommandID()+"/")
	for n := 0; n < most && (n == 0 && !begun || !r.ended(f)); n++ {
		cmd, err := next(f, reason)
		if err != nil {
			return app.Changed{}, err
		}
		if f, err = r.step(ctx, handler, f, cmd, n == 0 && !begun); err != nil {
			return app.Changed{}, err
		}
	}
	r.changed.Version, r.changed.State = f.Version, string(f.State)
	return r.changed, nil
}

// ended reports whether a file is where it is to be, and why.
func (r *request) ended(f domain.File) bool {
	for _, s := range r.done {
		if f.State == s && f.Reason != nil && f.Reason.Code == r.code {
			return true
		}
	}
	return false
}

// step makes one change. Each has an id of its own, and only the first one is about the
// version that the caller knows.
func (r *request) step(ctx context.Context, handler *files.Handler, f domain.File, cmd domain.FileCommand, first bool) (domain.File, error) {
	as := &app.App{Open: r.a.Open, Actor: r.a.Actor, DryRun: r.a.DryRun, Command: &app.Command{}}
	if id := r.a.CommandID(); id != "" {
		as.Command.ID = id + "/" + string(f.State)
	}
	if first && r.a.Command != nil {
		as.Command.IfVersion = r.a.Command.IfVersion
	}
	meta := as.Meta()
	if r.a.DryRun {
		return r.tried(f, cmd, meta)
	}
	res, err := handler.File(ctx, r.hash, cmd, meta)
	r.row(res.Rows)
	return res.File, err
}

// tried returns what a file would become.
func (r *request) tried(f domain.File, cmd domain.FileCommand, meta eventstore.Meta) (domain.File, error) {
	if err := meta.Outdated(f.Version); err != nil {
		return f, err
	}
	dec, err := domain.DecideFile(f, cmd)
	for _, e := range dec.Events {
		if err == nil {
			f, err = domain.EvolveFile(f, domain.Recorded{Event: e})
		}
	}
	r.row(dec.Rows)
	return f, err
}

func (r *request) row(rows []string) {
	for _, row := range rows {
		if r.changed.Row != "" {
			r.changed.Row += ", "
		}
		r.changed.Row += row
	}
}
