// Package objects has the use cases about what is stored: finding objects, and getting their
// content out. Nothing is given away as good whose digest was not compared.
package objects

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/domain/text"
)

// Filter chooses objects.
type Filter = record.ObjectFilter

// Object is an object as the inventory has it; title, creator, date and local ids are those
// of its newest version.
type Object struct {
	ID         string    `json:"id"` // its identifier, such as an ARK
	Collection string    `json:"collection"`
	Owner      string    `json:"owner"`
	Title      string    `json:"title"`
	Creator    string    `json:"creator"`
	Date       string    `json:"date"`
	LocalIDs   []string  `json:"local_ids"`
	Version    int64     `json:"version"` // the newest
	CreatedAt  time.Time `json:"created_at"`
	ModifiedAt time.Time `json:"modified_at"`
}

// Version is a stored version of an object.
type Version struct {
	Version        int64     `json:"version"` // from 1
	JobID          string    `json:"job_id"`
	BatchID        string    `json:"batch_id"`
	ProfileName    string    `json:"profile_name"`
	Submitter      string    `json:"submitter"`
	Files          int64     `json:"files"`
	Bytes          int64     `json:"bytes"`
	ManifestSHA256 string    `json:"manifest_sha256"`
	StoredAt       time.Time `json:"stored_at"`
	RecordedAt     time.Time `json:"recorded_at"`
}

// View is an object and its versions, newest first: at most a thousand.
type View struct {
	Object
	Versions []Version `json:"versions"`
	// Tombstone says that its content is gone, or going, nil = it is there.
	Tombstone *Tombstone `json:"tombstone,omitempty"`
	// Replicas are the copies of its versions in other stores, for those who see all objects.
	Replicas []Replica `json:"replicas,omitempty"`
}

// Replica is the copy of a version in another store.
type Replica struct {
	Version  int       `json:"version"`
	Location string    `json:"location"` // URL of the store
	State    string    `json:"status"`   // pending or stored
	Since    time.Time `json:"since"`    // in this state
	Attempts int64     `json:"attempts"`
	Error    string    `json:"error,omitempty"` // of the last attempt
}

// File is a file of a version.
type File struct {
	Kind     string `json:"kind"` // producer (the depositor sent it) or system (Accession made it)
	ID       string `json:"id"`   // its name, as paths have it; kind tells files of one name apart
	Name     string `json:"name"`
	Size     int64  `json:"size"` // bytes
	SHA256   string `json:"sha256"`
	MimeType string `json:"mime_type"`

	key string
}

// Of names a version of an object.
type Of struct {
	Object  string
	Version int // 0 = the newest that the caller may see
	// Sees is what the caller may see, nil = everything: the objects of some collections,
	// and of others the versions that it has deposited.
	Sees *access.Filter
}

// kind is what cursors of lists of objects and files are of.
const kind = "object"

// defaultLimit is how many items a list has when it is not said.
const defaultLimit = 50

// most is how many versions of an object are shown.
const most = 1000

// List lists objects in the order of their identifiers, from a cursor on.
func List(ctx context.Context, a *app.App, f Filter, from app.Cursor) (p app.Page[Object], err error) {
	defer app.Explained(&err, "list objects")
	for name, value := range map[string]string{"identifier": f.Identifier, "local id": f.LocalID, "title": f.Title, "creator": f.Creator, "file": f.File,
		"collection": f.Collection, "submitter": f.Submitter, "profile": f.Profile} {
		if !text.Valid(value) {
			return p, &app.Error{Kind: app.Invalid, Err: fmt.Errorf("the %s is not text: %.80q", name, value), Hint: "write it in UTF-8, without control characters"}
		}
	}
	if f.After, err = app.After(from, kind, same); err != nil {
		return p, err
	}
	records, err := a.Open.Records(ctx)
	if err != nil {
		return p, err
	}
	limit := f.Limit
	if limit < 1 {
		limit = defaultLimit
	}
	f.Limit = limit + 1
	rows, err := records.Objects(ctx, f)
	if err != nil {
		return p, err
	}
	all := make([]Object, len(rows))
	for i, row := range rows {
		all[i] = objectOf(row)
	}
	return app.PageOf(limit, all, kind, func(o Object) string { return o.ID }), nil
}

func same(id string) (string, error) { return id, nil }

func objectOf(row record.FoundObject) Object {
	return Object{ID: row.PrimaryIdentifier, Collection: row.Collection, Owner: row.Owner, Title: row.ErcWhat, Creator: row.ErcWho, Date: row.ErcWhen,
		LocalIDs: append([]string{}, row.LocalID...), Version: row.CurrentVersion, CreatedAt: row.CreatedAt.UTC(), ModifiedAt: row.ModifiedAt.UTC()}
}

func versionOf(row record.FoundVersion) Version {
	return Version{Version: row.Version, JobID: row.JobID, BatchID: row.BatchID, ProfileName: row.ProfileName, Submitter: row.Submitter, Files: row.Files, Bytes: row.Bytes,
		ManifestSHA256: row.ManifestSha256, StoredAt: row.StoredAt.UTC(), RecordedAt: row.RecordedAt.UTC()}
}

func noSuch(format string, args ...any) error {
	return &app.Error{Kind: app.NotFound, Err: fmt.Errorf("there is no "+format, args...), Hint: "`accession object ls` finds objects, `accession object show` lists their versions and files"}
}

// Show shows an object and its versions.
func Show(ctx context.Context, a *app.App, of Of) (v View, err error) {
	defer app.Explained(&err, "show object "+of.Object)
	records, err := a.Open.Records(ctx)
	if err != nil {
		return v, err
	}
	row, rows, err := versions(ctx, records, of, most)
	if err != nil {
		return v, err
	}
	v = View{Object: objectOf(row), Versions: []Version{}}
	for _, row := range rows {
		v.Versions = append(v.Versions, versionOf(row))
	}
	if v.Tombstone, err = tombstone(ctx, records, of.Object); err != nil {
		return v, err
	}
	if of.Sees == nil || of.Sees.All {
		replicas, err := records.ReplicasOf(ctx, of.Object)
		if err != nil {
			return v, err
		}
		for _, r := range replicas {
			v.Replicas = append(v.Replicas, Replica{Version: r.Version, Location: r.Location, State: r.State, Since: r.Since.Time, Attempts: r.Attempts, Error: r.Error})
		}
	}
	return v, nil
}

// Collection returns the collection of an object of which the caller sees a version.
func Collection(ctx context.Context, a *app.App, of Of) (name string, err error) {
	defer app.Explained(&err, "look for object "+of.Object)
	records, err := a.Open.Records(ctx)
	if err != nil {
		return "", err
	}
	o, _, err := versions(ctx, records, of, 1)
	return o.Collection, err
}

// versions returns an object and the versions that the caller may see, newest first. One of
// which it sees none does not exist.
func versions(ctx context.Context, records *record.Records, of Of, most int) (o record.FoundObject, rows []record.FoundVersion, err error) {
	o, found, err := records.Object(ctx, of.Object)
	if err != nil {
		return o, nil, err
	}
	own, sees := of.of(o)
	if found && sees {
		rows, err = records.ObjectVersions(ctx, of.Object, own, most)
	}
	if err == nil && len(rows) == 0 {
		err = noSuch("object %s", of.Object)
	}
	return o, rows, err
}

// of returns whose versions of an object the caller sees, "" = all, and whether it may see
// any.
func (of Of) of(o record.FoundObject) (submitter string, sees bool) {
	switch {
	case of.Sees == nil || of.Sees.Selects(o.Collection, ""):
		return "", true
	case of.Sees.Submitter != "":
		return of.Sees.Submitter, true
	}
	return "", false
}

// version returns the version that is meant.
func version(ctx context.Context, records *record.Records, of Of) (v record.FoundVersion, err error) {
	o, rows, err := versions(ctx, records, of, 1)
	if err != nil {
		return v, err
	}
	if of.Version == 0 || of.Version == int(rows[0].Version) {
		return rows[0], nil
	}
	v, found, err := records.ObjectVersion(ctx, of.Object, of.Version)
	if own, _ := of.of(o); err == nil && (!found || own != "" && v.Submitter != own) {
		err = noSuch("version %d of object %s", of.Version, of.Object)
	}
	return v, err
}

// Files lists the files of a version in the order of their kinds and names.
func Files(ctx context.Context, a *app.App, of Of, limit int, from app.Cursor) (p app.Page[File], err error) {
	defer app.Explained(&err, "list the files of object "+of.Object)
	records, err := a.Open.Records(ctx)
	if err != nil {
		return p, err
	}
	v, err := version(ctx, records, of)
	if err != nil {
		return p, err
	}
	return filesOf(ctx, records, v, limit, from)
}

// filesOf returns a page of the files of a version.
func filesOf(ctx context.Context, records *record.Records, v record.FoundVersion, limit int, from app.Cursor) (p app.Page[File], err error) {
	after, err := app.After(from, kind, same)
	if err != nil {
		return p, err
	}
	if limit < 1 {
		limit = defaultLimit
	}
	afterKind, afterName, _ := strings.Cut(after, "/")
	rows, err := records.ObjectFiles(ctx, v.PrimaryIdentifier, int(v.Version), afterKind, afterName, limit+1)
	if err != nil {
		return p, err
	}
	all := make([]File, len(rows))
	for i, row := range rows {
		all[i] = fileOf(row)
	}
	p = app.PageOf(limit, all, kind, func(f File) string { return f.Kind + "/" + f.Name })
	p.Total = &v.Files
	return p, nil
}

func fileOf(row record.FoundFile) File {
	return File{Kind: row.Kind, ID: row.Name, Name: row.Name, Size: row.Size, SHA256: row.Sha256, MimeType: row.MimeType, key: row.Key}
}
