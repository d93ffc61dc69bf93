package audit

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
)

// sets takes a change of a profile.
func (h *History) sets(d *domain.SettingChanged) {
	if d.Value == nil || d.Value.Profile == nil {
		delete(h.set, d.Name)
		return
	}
	h.set[d.Name] = *d.Value.Profile
}

// profiles compares the contents of the profiles that are set with what was kept of them: one
// that is lost or altered cannot be used by a process that begins.
func (c *checker) profiles(ctx context.Context, h *History) error {
	for _, name := range slices.Sorted(maps.Keys(h.set)) {
		want := h.set[name]
		content, err := c.Records.Profile(ctx, name, want.Version)
		got := "nothing"
		if err == nil {
			if _, err := profile.Kept(name, []byte(content), want.Version, want.SHA256); err == nil {
				continue
			}
			got = "the SHA-256 " + profile.SHA256([]byte(content))
		} else if known, ok := errors.AsType[*record.Error](err); !ok || known.Code != record.CodeNotFound {
			return err
		}
		c.found(consistency.NewFinding(consistency.ProfileLost, domain.SettingAggregate(domain.SettingProfile, name).String(), "record.profile", "version "+want.Version+" with the SHA-256 "+want.SHA256, got, nil))
	}
	return nil
}
