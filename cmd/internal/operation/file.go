package operation

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/again"
	"github.com/accession-ingest/accession/cmd/internal/app/entries"
	"github.com/accession-ingest/accession/cmd/internal/app/slots"
	"github.com/accession-ingest/accession/domain"
)

// FileList chooses files.
type FileList struct {
	Page
	Filter
	Batch string `query:"batch" maxLength:"40" doc:"Only of this batch"`
	Job   string `query:"job" maxLength:"40" doc:"Only of this job"`
	State string `query:"state" maxLength:"40" doc:"Only in this state"`
	Name  string `query:"name" maxLength:"400" doc:"Only with this text in their path"`

	Dataset string `query:"dataset" maxLength:"64" doc:"Only of this dataset of open directories"`
	Group   string `query:"group" maxLength:"128" doc:"Only of this group of a dataset"`
	Order
}

// FileShow shows one file.
type FileShow struct {
	FileHash
	At
}

// FileChange is a command about one file.
type FileChange struct {
	FileHash
	Match
}

func files() []*Operation {
	all := []*Operation{
		get("file.ls", "/v1/files", "List files", OnSeen, false, func(ctx context.Context, c *Call, in *FileList) (p app.Page[app.FileRow], err error) {
			f := app.FileFilter{Filter: in.of(c), Name: in.Name, Dataset: in.Dataset, Group: in.Group, Limit: in.Limit}
			if f.State, err = among(in.State, domain.FileStates); err != nil {
				return p, err
			}
			if f.Batch, err = c.batch(ctx, in.Batch); err != nil {
				return p, err
			}
			if f.Job, err = c.job(ctx, in.Job); err != nil {
				return p, err
			}
			p, err = c.App.Files(ctx, f, app.Cursor(in.Cursor), in.Sort)
			return orUnknown(ctx, c, in.named(in.Dataset), p, err)
		}),
		get("file.show", "/v1/files/{id}", "Show a file and its history", OnThing, true, func(ctx context.Context, c *Call, in *FileShow) (app.FileView, error) {
			then, err := in.moment()
			if err != nil || then.IsNow() {
				return orElse(err, func() (v app.FileView, err error) {
					if v, err = c.App.File(ctx, domain.FileHash(in.ID)); err == nil {
						v.Waits, err = slots.Waits(ctx, c.App, domain.FileHash(in.ID))
					}
					if err == nil && v.JobID == "" {
						v.Entries, err = entries.OfFile(ctx, c.App, domain.FileHash(in.ID))
					}
					return v, err
				})
			}
			return c.App.FileAt(ctx, domain.FileHash(in.ID), then)
		}),
	}
	for _, v := range []verb[domain.FileHash]{
		{"requeue", "Requeue a file that was given up or skipped", method((*app.App).RequeueFile)},
		{"skip", "Skip a downloaded file", method((*app.App).SkipFile)},
		{"redownload", "Fetch a file of a dataset anew", again.Redownload},
		{"reprocess", "Process a file of a dataset again", again.Reprocess},
		{"abandon", "Give up a ready file of a dataset", again.Abandon},
	} {
		all = append(all, change("file", "/v1/files", v, func(in *FileChange) (domain.FileHash, string) { return domain.FileHash(in.ID), in.Why() }))
	}
	return all
}
