// Package members unpacks the containers of jobs in the working directory.
//
// # Promises
//
// Nothing of a container is written before all of it was checked, and what was found in it is
// kept first. The files of a container are put into a directory of the claim, each under a
// temporary name, and the directory becomes that of the job by one rename: it has all files
// or is not there. A process that takes over, at whatever point another died, finds the one or
// begins again; the container stays until the job leaves the working directory.
package members

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/cmd/internal/unpack"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/container"
	"github.com/accession-ingest/accession/internal/crash"
)

// Unpacker unpacks the container of one claimed job.
type Unpacker struct {
	Source  *payload.Source
	Work    *store.Work
	Profile profile.Profile
	Job     domain.Job
	Claim   string // id of the claim
	Reserve int64  // bytes of the working directory that stay free
}

// List returns what is in the container, which was downloaded with this size and SHA-256, and
// checked. If it may not be unpacked the error is a *[container.Error].
func (u Unpacker) List(ctx context.Context, name string, size int64, sha256 string) (*container.Listing, error) {
	kept, err := u.Source.Members(ctx, u.Job)
	if err != nil {
		return nil, err
	}
	if kept != nil {
		if kept.SHA256 != sha256 {
			return nil, reason.Content(domain.CodeDigestMismatch, "%s: its content is another one than before: the SHA-256 was %s and is %s; submit it again", name, kept.SHA256, sha256)
		}
		return kept, nil
	}
	var list container.Listing
	err = u.open(name, size, sha256, func(c unpack.Container) (err error) {
		list, err = unpack.Inspect(ctx, c, u.Profile.Limits.Container())
		return err
	})
	if err != nil {
		return nil, err
	}
	return u.Source.KeepMembers(ctx, u.Job, list)
}

// open opens the downloaded container.
func (u Unpacker) open(name string, size int64, sha256 string, read func(unpack.Container) error) error {
	have, err := u.Work.Files(u.Job.Configuration.BatchID, u.Job.ID)
	if err != nil {
		return err
	}
	defer func() { _ = have.Close() }()
	f, err := have.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return read(unpack.Container{Name: name, Size: size, SHA256: sha256, Data: f})
}

// Unpack puts the files of the container into place, unless they are there.
func (u Unpacker) Unpack(ctx context.Context, list container.Listing) error {
	batch := u.Job.Configuration.BatchID
	switch there, err := u.there(ctx, list); {
	case err != nil:
		return err
	case there:
		return nil
	}
	// Before there is another one: what an earlier claim has left takes space.
	if err := u.clear(); err != nil {
		return err
	}
	if err := u.room(list.Bytes()); err != nil {
		return err
	}
	claim, err := u.Work.ClaimMembers(batch, u.Job.ID, u.Claim+suffix)
	if err != nil {
		return err
	}
	err = crash.Around("daemon/downloading/unpack", func() error { return u.extract(ctx, list, claim) })
	if err == nil {
		err = ctx.Err() // the claim is lost: another worker may have the job
	}
	if err == nil {
		err = crash.Around("daemon/downloading/win-members", claim.Commit)
	}
	if err != nil {
		return errors.Join(err, claim.Abandon())
	}
	return nil
}

// suffix ends the name of the directory of the members of a claim, which has another for its downloads.
const suffix = "-members"

// extract writes the files of the container into the directory of the claim.
func (u Unpacker) extract(ctx context.Context, list container.Listing, claim *store.Claim) error {
	return u.open(list.Container, list.Size, list.SHA256, func(c unpack.Container) error {
		return unpack.Extract(ctx, c, u.Profile.Limits.Container(), list, func(i int, r io.Reader) error {
			part, err := claim.Create(list.Files[i].Name)
			if err != nil {
				return err
			}
			if _, err := io.Copy(u.Work.Reserved(part, u.Reserve), r); err != nil {
				part.Abort()
				return err
			}
			return part.Commit()
		})
	})
}

// there reports whether all files are in place, as they were found in the container.
func (u Unpacker) there(ctx context.Context, list container.Listing) (bool, error) {
	have, err := u.Work.Members(u.Job.Configuration.BatchID, u.Job.ID)
	if store.CodeOf(err) == store.CodeNotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = have.Close() }()
	for _, f := range payload.OfContainer(list) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if !sound(have, f) {
			return false, nil
		}
	}
	return true, nil
}

// sound reports whether a file is as it was found.
func sound(have *store.Files, f payload.File) bool {
	r, err := have.Open(f.Name)
	if err != nil {
		return false
	}
	defer func(f *os.File) { _ = f.Close() }(r)
	_, err = payload.Measured(r, f)
	return err == nil
}

// clear removes what is not whole, and what claims that have ended have left.
func (u Unpacker) clear() error {
	batch := u.Job.Configuration.BatchID
	err := crash.Around("daemon/downloading/clear-members", func() error { return u.Work.DiscardMembers(batch, u.Job.ID) })
	if err != nil {
		return err
	}
	left, err := u.Work.Left(batch, u.Job.ID, u.Claim)
	for _, l := range left {
		err = errors.Join(err, l.Remove(), l.Close())
	}
	return err
}

// room returns an error unless so many bytes fit into the working directory.
func (u Unpacker) room(bytes int64) error {
	total, err := u.Work.Total()
	if err != nil {
		return err
	}
	if most := total - u.Reserve; bytes > most {
		return reason.Content(domain.CodeSpaceNever, "the files of the container have %d bytes, and there are never more than %d of working space: divide the object, or ask the operators for more",
			bytes, max(most, 0))
	}
	if err := u.Work.Room(bytes + u.Reserve); err != nil {
		return fmt.Errorf("unpack the container: %w", err)
	}
	return nil
}
