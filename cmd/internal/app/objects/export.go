package objects

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
)

// Exported is what an export has written.
type Exported struct {
	ID      string `json:"id"` // of the object
	Version int64  `json:"version"`
	Dir     string `json:"dir"`
	Files   int64  `json:"files"`
	Bytes   int64  `json:"bytes"`
	Written int64  `json:"written"` // files that were not there before
}

// manifestName is the storage manifest in an export. It is written last: an export that has
// it is complete.
const manifestName = "manifest.json"

// pageOfFiles is how many files are read from the inventory at once.
const pageOfFiles = 1000

// Export copies the files of a version into a directory: those of the depositor below
// producer, those of the system below system, and then the storage manifest. Each file is
// there when all of it is on disk and has its digest. An export that was interrupted is
// completed by the next one; what is there is never replaced. progress is told of each file.
func Export(ctx context.Context, a *app.App, of Of, dir string, progress func(f File, written bool)) (done Exported, err error) {
	defer app.Explained(&err, "export object "+of.Object)
	records, err := a.Open.Records(ctx)
	if err != nil {
		return done, err
	}
	v, err := version(ctx, records, of)
	if err != nil {
		return done, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return done, err
	}
	done = Exported{ID: of.Object, Version: v.Version, Dir: dir}
	objects, err := a.Open.ObjectStore(ctx, v.ProfileName)
	if err != nil {
		return done, err
	}
	to, err := store.OpenExport(dir)
	if err != nil {
		return done, stored(err)
	}
	err = copyAll(ctx, records, objects, to, v, &done, progress)
	return done, stored(errors.Join(err, to.Close()))
}

func copyAll(ctx context.Context, records *record.Records, from *store.Store, to *store.Export, v record.FoundVersion, done *Exported, progress func(File, bool)) error {
	afterKind, afterName := "", ""
	for {
		rows, err := records.ObjectFiles(ctx, v.PrimaryIdentifier, int(v.Version), afterKind, afterName, pageOfFiles)
		if err != nil {
			return err
		}
		for _, row := range rows {
			f := fileOf(row)
			written, err := to.Copy(ctx, from, f.blob(), f.Kind+"/"+f.Name)
			if err != nil {
				return err
			}
			done.Files++
			done.Bytes += f.Size
			if written {
				done.Written++
			}
			progress(f, written)
		}
		if len(rows) < pageOfFiles {
			break
		}
		afterKind, afterName = rows[len(rows)-1].Kind, rows[len(rows)-1].Name
	}
	info, err := from.Stat(ctx, v.ManifestKey)
	if err != nil {
		return err
	}
	_, err = to.Copy(ctx, from, store.Blob{Key: v.ManifestKey, Size: info.Size, SHA256: v.ManifestSha256}, manifestName)
	return err
}
