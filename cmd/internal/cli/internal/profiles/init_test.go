package profiles

import (
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/profile"
	reference "github.com/accession-ingest/accession/deploy/profiles"
)

// TestFreshProfiles: a new profile has what was said of it, and else what the reference has.
func TestFreshProfiles(t *testing.T) {
	t.Parallel()
	want, err := profile.Parse("reference.yaml", reference.Reference)
	if err != nil {
		t.Fatal(err)
	}
	for _, owner := range []string{"Map library", `A "b": c # d`, "- é"} {
		got, err := profile.Parse("maps.yaml", fresh(map[string]string{"name": "maps", "collection": "all-maps", "owner": owner, "  naan": "12345", "  shoulder": "fk9"}))
		if err != nil || got.Name != "maps" || got.Collection != "all-maps" || got.Owner != owner || got.Identifier.NAAN != "12345" || got.Identifier.Shoulder != "fk9" {
			t.Errorf("%+v, %v", got, err)
		}
		if got.Limits != want.Limits || got.Fetch.Timeout != want.Fetch.Timeout {
			t.Errorf("%+v, want the rest of %+v", got, want)
		}
	}
}
