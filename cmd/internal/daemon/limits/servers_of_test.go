package limits

import (
	"fmt"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
)

// TestServersOf: what may hang in each state holds only its share of the workers there.
func TestServersOf(t *testing.T) {
	t.Parallel()
	p := profile.Profile{Name: "maps", Recording: "https://records.test:8443/in", Callback: profile.Callback{URL: "https://told.test/"}, Identifier: profile.Identifier{URL: "https://names.test"}}
	var plain profile.Profile
	j := domain.Job{Configuration: domain.Configuration{PayloadURL: "http://files.test/a"}}
	for _, c := range []struct {
		state domain.JobState
		p     profile.Profile
		own   bool
		want  string
	}{
		{domain.JobDownloading, p, true, "[files.test]"},
		{domain.JobProcessing, p, false, "[names.test]"},
		{domain.JobProcessing, p, true, "[names.test the object store of profile maps]"},
		{domain.JobRecording, p, false, "[records.test:8443]"},
		{domain.JobRecording, p, true, "[records.test:8443 the object store of profile maps]"},
		{domain.JobRecording, plain, true, "[the object store of profile ]"},
		{domain.JobRecording, plain, false, "[]"},
		{domain.JobNotify, p, true, "[told.test]"},
	} {
		if got := fmt.Sprint(ServersOf(c.state, j, c.p, true, c.own)); got != c.want {
			t.Errorf("%s, %v: %s, want %s", c.state, c.own, got, c.want)
		}
	}
}
