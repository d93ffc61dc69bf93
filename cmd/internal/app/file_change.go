package app

import (
	"context"
	"strings"

	"github.com/accession-ingest/accession/domain"
)

// The codes of an operator's reasons.
const (
	codeRequested         domain.Code = "requested"
	codeSkippedByOperator domain.Code = "skipped_by_operator"
)

// RequeueFile takes a file up again that was ignored, abandoned or skipped (O1 to
// O3), with all its attempts before it. With dry it only tells what would happen.
func (a *App) RequeueFile(ctx context.Context, hash domain.FileHash, why string, dry bool) (Changed, error) {
	if strings.TrimSpace(why) == "" {
		why = "taken up again"
	}
	return a.changeFile(ctx, "requeue", hash, domain.ReopenFile{
		Reason: domain.Reason{Class: domain.ClassWait, Code: codeRequested, Message: why}}, dry)
}

// SkipFile leaves a downloaded file out (F9): its object is made without it, and
// the report names it. A reason is required. With dry it only tells what would
// happen.
func (a *App) SkipFile(ctx context.Context, hash domain.FileHash, why string, dry bool) (Changed, error) {
	return a.changeFile(ctx, "skip", hash, domain.SkipFile{
		Reason: domain.Reason{Class: domain.ClassCancelled, Code: codeSkippedByOperator, Message: strings.TrimSpace(why)}}, dry)
}

func (a *App) changeFile(ctx context.Context, verb string, hash domain.FileHash, cmd domain.FileCommand, dry bool) (Changed, error) {
	what := verb + " " + string(hash)
	files, err := a.World.Files(ctx)
	if err != nil {
		return Changed{}, explain(what, err)
	}
	f, err := files.Load(ctx, hash)
	if err != nil {
		return Changed{}, explain(what, err)
	}
	if dry {
		dec, err := domain.DecideFile(f, cmd)
		if err != nil {
			return Changed{}, explain(what, err)
		}
		last := dec.Events[len(dec.Events)-1]
		m, _ := domain.MoveOfFile(last.Data)
		return Changed{Subject: hash.Aggregate().String(), Version: last.Version, State: string(m.To), Row: strings.Join(dec.Rows, ", ")}, nil
	}
	res, err := files.File(ctx, hash, cmd, a.order())
	if err != nil {
		return Changed{}, explain(what, err)
	}
	return Changed{Subject: hash.Aggregate().String(), Version: res.File.Version, State: string(res.File.State), Row: strings.Join(res.Rows, ", ")}, nil
}
