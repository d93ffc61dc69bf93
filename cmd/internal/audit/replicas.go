package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// replicated returns the stores that should have copies of a version, those that its profile
// names, and what is known of them.
func (c *checker) replicated(v *version, kept record.Kept) (locations []string, known map[string]record.Replica) {
	known = map[string]record.Replica{}
	of, err := c.Profiles.Get(v.profile)
	if err != nil || len(of.Replicas) == 0 { // of a profile that is gone nothing is required
		return nil, known
	}
	for _, r := range kept.Replicas {
		if r.VersionID == v.VersionID && r.ManifestSHA256 == v.digest {
			known[r.Location] = r
		}
	}
	return of.Replicas, known
}

// replicas compares the copies of a version. What is copied again comes from objects.
func (c *checker) replicas(ctx context.Context, objects *store.Store, v *version, kept record.Kept) error {
	locations, known := c.replicated(v, kept)
	is := record.Replicated{Stored: v.Stored, ProfileName: v.profile, ManifestKey: v.manifestKey(), ManifestSHA256: v.digest}
	for _, location := range locations {
		add := func(code domain.Code, got string) {
			c.found(consistency.NewFinding(code, v.subject(), location, describe(v.VersionID)+", SHA-256 "+v.digest, got,
				func(ctx context.Context) error { return c.Replicas.Copy(ctx, objects, is, location) }))
		}
		row := known[location]
		var err error
		switch {
		case row.State != record.ReplicaStored && c.pending != nil:
			err = c.pending(ctx, is, location, "")
		case row.State != record.ReplicaStored:
			add(consistency.ReplicaMissing, strings.TrimSuffix("no copy yet: "+row.Error, ": "))
		default:
			var got string
			got, err = c.replica(ctx, v, location)
			if err == nil && got != "" {
				add(consistency.ReplicaWrong, got)
				if c.pending != nil {
					err = c.pending(ctx, is, location, got)
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// replica returns what is wrong with the copy of a version in a store, "" = nothing. A store
// that does not answer is wrong too.
func (c *checker) replica(ctx context.Context, v *version, location string) (wrong string, err error) {
	at, err := c.Stores.At(ctx, location)
	if err != nil {
		return err.Error(), ctx.Err()
	}
	m, is, err := readManifest(ctx, at, v)
	if err != nil {
		return err.Error(), ctx.Err()
	}
	if is != nil {
		return "as storage manifest " + is.got, nil
	}
	for _, f := range m.Files {
		code, got, err := CheckFile(ctx, at, f, c.Deep, c.pace.through(ctx, &c.read))
		if err != nil {
			return err.Error(), ctx.Err()
		}
		if code != "" {
			return fmt.Sprintf("as %s %s", f.Key, got), nil
		}
	}
	faults, err := at.OCFLFaults(ctx, v.Object, v.manifestKey(), v.digest)
	if err != nil {
		return err.Error(), ctx.Err()
	}
	if len(faults) > 0 {
		return "something else, or nothing, as " + faults[0], nil
	}
	return "", nil
}

// fromReplica returns what copies a stored file of a version back from a replica, nil = none
// has it.
func (c *checker) fromReplica(ctx context.Context, objects *store.Store, v *version, kept record.Kept, f store.Blob) func(context.Context) error {
	at := c.withCopy(ctx, v, kept, f)
	if at == nil {
		return nil
	}
	return func(ctx context.Context) error { return objects.Copy(ctx, at, f) }
}

// withCopy returns a replica that has a stored file of a version by its size, nil = none.
func (c *checker) withCopy(ctx context.Context, v *version, kept record.Kept, f store.Blob) *store.Store {
	locations, known := c.replicated(v, kept)
	locations = slices.DeleteFunc(slices.Clone(locations), func(l string) bool { return known[l].State != record.ReplicaStored })
	for _, location := range locations {
		at, err := c.Stores.At(ctx, location)
		if err != nil {
			continue // the finding about the replica says so
		}
		if info, err := at.Stat(ctx, f.Key); err == nil && (f.Size < 0 || info.Size == f.Size) {
			return at
		}
	}
	return nil
}
