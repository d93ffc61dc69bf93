package payload

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/container"
	"github.com/accession-ingest/accession/domain/manifest"
	"github.com/accession-ingest/accession/internal/crash"
)

// membersKey is where the object store has what was found in a job's container: all steps
// after the first read the same, as they do with manifests.
func membersKey(j domain.Job) string {
	return "manifests/" + string(j.Configuration.BatchID) + "/" + string(j.ID) + ".json"
}

// Members returns what was found in the job's container, nil = nothing was kept: it is not
// unpacked yet, or by a program that stored containers as they came.
func (s *Source) Members(ctx context.Context, j domain.Job) (*container.Listing, error) {
	if j.Configuration.PayloadType != domain.TypeContainer {
		return nil, nil
	}
	data, err := s.Kept(ctx, membersKey(j))
	if store.CodeOf(err) == store.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list container.Listing
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", membersKey(j), err)
	}
	return &list, nil
}

// KeepMembers keeps what was found in the job's container, and returns what is kept.
func (s *Source) KeepMembers(ctx context.Context, j domain.Job, list container.Listing) (*container.Listing, error) {
	data, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	err = s.InTime(ctx, int64(len(data)), "keep what is in the container", membersKey(j), func(ctx context.Context) error {
		return crash.Around("daemon/downloading/keep-members", func() error {
			_, err := s.Objects.PutIfAbsent(ctx, membersKey(j), bytes.NewReader(data))
			return err
		})
	})
	if err != nil && store.CodeOf(err) != store.CodeConflict { // another attempt was first: what it kept holds
		return nil, err
	}
	return s.Members(ctx, j)
}

// OfContainer returns the files of a container as those of its job.
func OfContainer(list container.Listing) []File {
	all := make([]File, len(list.Files))
	for i, f := range list.Files {
		all[i] = File{Name: f.Name, Algorithm: manifest.SHA256, Digest: f.SHA256, Size: f.Size}
	}
	return all
}
