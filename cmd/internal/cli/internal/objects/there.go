package objects

import (
	"context"
	"fmt"
	"io"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/objects"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// there reads a version of an object from a service over HTTP.
type there struct {
	door.Door
	of operation.ObjectVersion
}

// pageOfFiles is how many files are asked for at once.
const pageOfFiles = 1000

// Version implements objects.Source. The version that is the newest now is meant until the
// end, whatever is stored meanwhile.
func (t *there) Version(ctx context.Context) (v objects.Version, err error) {
	shown, err := door.Carry[objects.View](ctx, t.Door, "object.show", &t.of.ObjectID)
	if err != nil {
		return v, err
	}
	for _, v := range shown.Versions {
		if t.of.Version == 0 || int(v.Version) == t.of.Version {
			t.of.Version = int(v.Version)
			return v, nil
		}
	}
	return v, &app.Error{Kind: app.NotFound, Err: fmt.Errorf("there is no version %d of object %s", t.of.Version, t.of.ID), Hint: "`accession object show` lists those that you may see"}
}

// Files implements objects.Source.
func (t *there) Files(ctx context.Context, _ objects.Version, from app.Cursor) (app.Page[objects.File], error) {
	return door.Carry[app.Page[objects.File]](ctx, t.Door, "object.files", &operation.ObjectFiles{ObjectVersion: t.of, Page: operation.Page{Limit: pageOfFiles, Cursor: string(from)}})
}

// Open implements objects.Source.
func (t *there) Open(ctx context.Context, _ objects.Version, f objects.File) (io.ReadCloser, error) {
	return t.get(ctx, "object.get", &operation.ObjectFile{ObjectVersion: t.of, FileName: operation.FileName{Name: f.Name, Kind: f.Kind}}), nil
}

// Manifest implements objects.Source.
func (t *there) Manifest(ctx context.Context, _ objects.Version) (io.ReadCloser, error) {
	return t.get(ctx, "object.manifest", &t.of), nil
}

// get returns what reads the answer of an operation as it arrives.
func (t *there) get(ctx context.Context, name string, in any) io.ReadCloser {
	r, w := io.Pipe()
	go func() { _ = w.CloseWithError(t.There.Fetch(ctx, name, in, nil, w)) }() // it returns nil
	return r
}
