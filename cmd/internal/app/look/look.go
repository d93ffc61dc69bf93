// Package look has the use case of an operator who looks into a job: what the servers and the
// working directory have of it now, as they have it.
package look

import (
	"context"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Limits of an answer.
const (
	MaxManifest = 256 << 10 // bytes of the manifest
	MaxFiles    = 1000      // working files
)

// File is a working file.
type File = store.WorkFile

// Inside is what there is of a job.
type Inside struct {
	ID       domain.JobID    `json:"id"`
	Batch    domain.BatchID  `json:"batch_id"`
	Status   domain.JobState `json:"status"`
	Version  int64           `json:"version"`
	Metadata Metadata        `json:"metadata"`
	// Manifest is what the job was made from, absent = nothing of it is kept.
	Manifest *Manifest `json:"manifest,omitempty"`
	Files    []File    `json:"working_files"` // with names below the directory of the job
	More     bool      `json:"more_working_files"`
	// Nodes are its nodes in ZooKeeper, below the root, by name: none once it was removed
	// from the live state.
	Nodes []Node `json:"nodes"`
	Lock  *Lock  `json:"lock,omitempty"` // absent = no worker has it
	// Claims counts how often workers have claimed it since its last event, with those that died.
	Claims int `json:"claims"`
	// Unknown says what could not be looked at, and why.
	Unknown []string `json:"unknown,omitempty"`
}

const liveState = "the live state"

// Unseen returns why nodes and lock are not known, "" = they are.
func (in Inside) Unseen() string {
	for _, why := range in.Unknown {
		if strings.HasPrefix(why, liveState) {
			return why
		}
	}
	return ""
}

// Metadata is what the job says of its object.
type Metadata struct {
	Identifier string   `json:"identifier,omitempty"`
	LocalIDs   []string `json:"local_ids"`
	Title      string   `json:"title,omitempty"`
	Creator    string   `json:"creator,omitempty"`
	Date       string   `json:"date,omitempty"`
	Where      string   `json:"where,omitempty"`
}

// Manifest is a manifest as it is kept, but for the secrets of its URLs.
type Manifest struct {
	Of   string `json:"of" enum:"job,batch"` // whose manifest it is
	Row  *int   `json:"row,omitempty"`       // of the job in the manifest of its batch, from 1
	Size int64  `json:"size"`                // in bytes
	Text string `json:"text"`
	Cut  bool   `json:"cut,omitempty"` // the text is only its begin
}

// Node is a node of the live state.
type Node struct {
	Name string `json:"name"`
	Data string `json:"data,omitempty"`
}

// Lock is the lock of a worker on the job.
type Lock struct {
	Holder string `json:"holder,omitempty"` // absent = it cannot be read
	Alive  bool   `json:"alive"`            // the worker is registered
	// Since is when the worker took the lock, by ZooKeeper's clock.
	Since time.Time `json:"since,omitzero"`
}

// Into looks into a job. A part that cannot be looked at is named in the answer; the error is
// one of kind NotFound if there is no such job.
func Into(ctx context.Context, a *app.App, id domain.JobID) (in Inside, err error) {
	defer app.Explained(&err, "look into "+string(id))
	j, err := job(ctx, a, id)
	if err != nil {
		return in, err
	}
	c, m := j.Configuration, j.Metadata
	in = Inside{ID: id, Batch: c.BatchID, Status: j.State, Version: j.Version, Nodes: []Node{}, Files: []File{},
		Metadata: Metadata{j.Identifiers.Primary, append([]string{}, j.Identifiers.LocalID...), m.ErcWhat, m.ErcWho, m.ErcWhen, m.ErcWhere}}
	unknown := func(what string, err error) {
		if err != nil {
			in.Unknown = append(in.Unknown, what+" cannot be looked at: "+hidden(c, reason(err)))
		}
	}
	unknown("the manifest", in.manifest(ctx, a, j))
	files, more, err := a.Open.WorkFiles(ctx, j, MaxFiles)
	in.Files, in.More = append(in.Files, files...), more
	unknown("the working directory", err)
	unknown(liveState, in.nodes(ctx, a, c))
	return in, nil
}

// reason says in words that name no place why something is not known.
func reason(err error) string {
	switch {
	case store.CodeOf(err) == store.CodeNotFound:
		return "it is not there on this machine"
	case errors.Is(err, context.DeadlineExceeded):
		return "it does not answer"
	}
	if known, ok := errors.AsType[*app.Error](err); ok && known.Kind == app.Unavailable {
		return known.What + " does not answer"
	}
	if code := store.CodeOf(err); code != "" {
		return string(code)
	}
	return "it cannot be read"
}

// job returns the job as the live state has it, or as the tables do once it was removed there.
func job(ctx context.Context, a *app.App, id domain.JobID) (domain.Job, error) {
	live, err := a.Open.Live(ctx)
	if err != nil {
		return domain.Job{}, err
	}
	at, err := live.Job(ctx, id)
	if !errors.Is(err, eventstore.ErrNotFound) {
		return at.State, err
	}
	v, err := a.Job(ctx, id)
	if err != nil {
		return domain.Job{}, err
	}
	return domain.Job{ID: id, Version: v.Version, State: domain.JobState(v.Status),
		Configuration: domain.Configuration{BatchID: domain.BatchID(v.BatchID), ProfileName: v.ProfileName, WorkingDir: v.WorkingDir, Row: int(v.ManifestRow)},
		Identifiers:   domain.Identifiers{Primary: v.PrimaryIdentifier, LocalID: v.LocalID},
		Metadata:      domain.Metadata{ErcWho: v.ErcWho, ErcWhat: v.ErcWhat, ErcWhen: v.ErcWhen, ErcWhere: v.ErcWhere}}, nil
}

// manifest sets the manifest: the copy of the job's own, or else that of its batch.
func (in *Inside) manifest(ctx context.Context, a *app.App, j domain.Job) error {
	objects, err := a.Open.Uploads(ctx)
	if err != nil {
		return err
	}
	m := &Manifest{Of: "job"}
	err = m.read(ctx, objects, "manifests/"+string(in.Batch)+"/"+string(in.ID)+".checkm")
	if store.CodeOf(err) == store.CodeNotFound {
		key, lookErr := ofBatch(ctx, objects, in.Batch)
		if lookErr != nil || key == "" {
			return lookErr
		}
		m = &Manifest{Of: "batch", Row: new(j.Configuration.Row + 1)}
		if err = m.read(ctx, objects, key); store.CodeOf(err) == store.CodeNotFound {
			return nil // its retention is over
		}
	}
	if err == nil {
		m.Text = text(m.Text)
		in.Manifest = m
	}
	return err
}

// ofBatch returns the key of the manifest that a batch was listed from, "" = none is kept. It
// comes before those of its jobs, which have their ids.
func ofBatch(ctx context.Context, objects *store.Store, id domain.BatchID) (string, error) {
	for kept, err := range objects.List(ctx, "manifests/"+string(id)+"/") {
		name := path.Base(kept.Key)
		if _, notJob := domain.ParseJobID(strings.TrimSuffix(name, path.Ext(name))); err != nil || notJob != nil {
			return kept.Key, err
		}
	}
	return "", nil
}

// read reads a manifest of the object store.
func (m *Manifest) read(ctx context.Context, objects *store.Store, key string) error {
	info, err := objects.Stat(ctx, key)
	if err != nil {
		return err
	}
	r, err := objects.Get(ctx, key)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(r, MaxManifest))
	m.Size, m.Text, m.Cut = info.Size, strings.ToValidUTF8(string(data), "\uFFFD"), info.Size > MaxManifest
	return err
}

// nodes sets the nodes of the live state.
func (in *Inside) nodes(ctx context.Context, a *app.App, c domain.Configuration) error {
	live, err := a.Open.Inspect(ctx)
	if err != nil {
		return err
	}
	seen, err := live.Inspector.InspectJob(ctx, in.ID)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(seen.Nodes)) {
		in.Nodes = append(in.Nodes, Node{name, hidden(c, data(seen.Nodes[name]))})
	}
	in.Claims = seen.Claims
	if seen.Lock != nil {
		in.Lock = &Lock{seen.Lock.Holder, seen.Lock.Alive, seen.Lock.Since}
	}
	return nil
}
