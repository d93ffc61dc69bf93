package app

import (
	"context"
	"errors"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// The codes of an operator's reasons.
const (
	codeRequested         domain.Code = "requested"
	codeSkippedByOperator domain.Code = "skipped_by_operator"
)

// RequeueFile takes a file up again that was ignored, abandoned or skipped (O1 to
// O3); its attempts count from 0.
func (a *App) RequeueFile(ctx context.Context, hash domain.FileHash, why string) (Changed, error) {
	if why = strings.TrimSpace(why); why == "" {
		why = "taken up again"
	}
	return a.changeFile(ctx, "requeue", hash, domain.ReopenFile{
		Reason: domain.Reason{Class: domain.ClassWait, Code: codeRequested, Message: why}})
}

// SkipFile leaves a downloaded file out (F9): its object is made without it, and
// the report names it. A reason is required.
func (a *App) SkipFile(ctx context.Context, hash domain.FileHash, why string) (Changed, error) {
	if why = strings.TrimSpace(why); why == "" {
		return Changed{}, &Error{Kind: Invalid, What: "skip " + string(hash), Err: errors.New("leaving a file out needs a reason"),
			Hint: "say why with --reason; it stays in the history"}
	}
	return a.changeFile(ctx, "skip", hash, domain.SkipFile{
		Reason: domain.Reason{Class: domain.ClassCancelled, Code: codeSkippedByOperator, Message: why}})
}

// changeFile decides and writes an operator's command about a file.
func (a *App) changeFile(ctx context.Context, verb string, hash domain.FileHash, cmd domain.FileCommand) (Changed, error) {
	what := verb + " " + string(hash)
	files, err := a.World.Files(ctx)
	if err != nil {
		return Changed{}, explain(what, err)
	}
	before, err := files.Load(ctx, hash)
	if errors.Is(err, eventstore.ErrNotFound) {
		return Changed{}, &Error{Kind: NotFound, What: what, Err: errors.New("there is no such file"), Hint: "`accession job show` lists the files of a job"}
	}
	if err != nil {
		return Changed{}, explain(what, err)
	}
	c := Changed{Subject: hash.Aggregate().String(), From: string(before.State), DryRun: a.DryRun}
	if a.DryRun {
		dec, err := domain.DecideFile(before, cmd)
		if err != nil {
			return Changed{}, explain(what, err)
		}
		last := dec.Events[len(dec.Events)-1]
		m, _ := domain.MoveOfFile(last.Data)
		c.Version, c.State, c.Row = last.Version, string(m.To), strings.Join(dec.Rows, ", ")
		return c, nil
	}
	res, err := files.File(ctx, hash, cmd, a.order())
	if err != nil {
		return Changed{}, explain(what, err)
	}
	c.Version, c.State, c.Row = res.File.Version, string(res.File.State), strings.Join(res.Rows, ", ")
	return c, nil
}
