package record

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// KeepProfile keeps a content of a profile, before the setting of the profile names its
// version. What was kept under the version and is damaged is written again.
func (r *Records) KeepProfile(ctx context.Context, name, version, content string, by domain.Actor) error {
	err := crash.Around("record/profile/keep", func() error {
		return r.q.KeepProfile(ctx, pgdb.KeepProfileParams{Name: name, Version: version, Content: content, KeptBy: string(by)})
	})
	return wrap(err, "keep the profile", name)
}

// Profile returns the content that a version of a profile has; the error has the code
// CodeNotFound if none is kept.
func (r *Records) Profile(ctx context.Context, name, version string) (content string, err error) {
	const op = "read the profile"
	content, err = r.q.ProfileContent(ctx, pgdb.ProfileContentParams{Name: name, Version: version})
	if errors.Is(err, pgx.ErrNoRows) {
		err = refuse(CodeNotFound, op, name+" "+version, "its content is not kept; `accession verify` says what to do")
	}
	return content, wrap(err, op, name+" "+version)
}
