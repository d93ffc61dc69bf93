package daemon

import (
	"cmp"
	"context"
	"errors"

	"github.com/accession-ingest/accession/cmd/internal/daemon/members"
	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/container"
	"github.com/accession-ingest/accession/internal/crash"
)

// packed reports whether the one file is a container that is to be unpacked. One that was
// ready by an older program is stored as it came.
func (fs *fileStates) packed() bool {
	return len(fs.files) == 1 && fs.files[0].URL != "" && fs.task.Job.Configuration.PayloadType == domain.TypeContainer && fs.state[0].State == domain.FileDownloaded
}

// unpack unpacks a container that was downloaded, and returns its files, which are ready
// (F1, F3, F10). One that may not be unpacked fails (F8) and is removed, so that a requeue
// fetches it anew.
func (s *steps) unpack(ctx context.Context, t *JobTask, c *fileStates, work *store.Work) (*fileStates, error) {
	u := members.Unpacker{Source: s.Source, Work: work, Profile: t.Profile, Job: t.Job, Claim: t.Claim.ID, Reserve: s.cfg.SpaceReserve / 2}
	list, err := u.List(ctx, c.files[0].Name, c.state[0].Size, c.state[0].SHA256)
	if bad := new(container.Error); errors.As(err, &bad) {
		discard := func(context.Context) error {
			return crash.Around("daemon/downloading/discard-container", func() error { return work.Discard(t.Job.Configuration.BatchID, t.Job.ID) })
		}
		refuse := func(ctx context.Context) error {
			return c.inState(ctx, "", domain.FileDownloaded, domain.FailValidation{Reason: reason.Of(bad, ""), Limits: domain.Limits{Max: 1}})
		}
		err = cmp.Or(inOrder(ctx, discard, refuse), error(&reason.Problem{Reason: bad.Reason()}))
	}
	if err != nil {
		return nil, err
	}
	fs, err := s.discovered(ctx, t, payload.OfContainer(*list))
	if err != nil {
		return nil, err
	}
	there := func(ctx context.Context) error {
		return fs.each(ctx, "", func(f domain.File) domain.FileCommand {
			if f.State != domain.FileDiscovered {
				return nil
			}
			return domain.FileAlreadyThere{Size: f.Spec.Size, SHA256: f.Spec.DigestValue}
		})
	}
	return fs, inOrder(ctx, func(ctx context.Context) error { return u.Unpack(ctx, *list) }, there, fs.ready)
}

// codeUnpacked is why a container is no file of the object: its files are.
const codeUnpacked domain.Code = "container_unpacked"

// unpacked reports whether the one file is a container whose files are stored.
func (fs *fileStates) unpacked() bool {
	return len(fs.state) == 1 && fs.leftOut(0) && fs.state[0].Reason != nil && fs.state[0].Reason.Code == codeUnpacked
}

// objectFiles lists the files of the job's object: those of its container if that was unpacked.
func (s *steps) objectFiles(ctx context.Context, t *JobTask) ([]payload.File, error) {
	files, err := s.Files(ctx, t.Profile, t.Job)
	list, kept := s.Members(ctx, t.Job)
	if err = cmp.Or(err, kept); err != nil || list == nil {
		return files, err
	}
	if t.packed, err = s.fileStates(ctx, t, files); err == nil && (t.packed.packed() || t.packed.unpacked()) {
		t.cited = list.ERC
		return payload.OfContainer(*list), nil
	}
	t.packed = nil
	return files, err
}

// skipContainer ends the life of a container, if there is one, when its files are stored (F9).
func (fs *fileStates) skipContainer(ctx context.Context) error {
	if fs == nil {
		return nil
	}
	why := domain.Reason{Class: domain.ClassWait, Code: codeUnpacked, Message: "it was unpacked: its files are those of the object"}
	return crash.Around("daemon/processing/skip-container", func() error {
		return fs.inState(ctx, "", domain.FileDownloaded, domain.SkipFile{Reason: why})
	})
}
