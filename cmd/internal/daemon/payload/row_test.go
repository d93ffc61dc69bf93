package payload_test

import (
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
)

// TestRowsOfUpdates: a row of an update names its object, unless a container may do it.
func TestRowsOfUpdates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode string
		of   domain.SubmissionType
		row  manifest.Row
		says string
	}{
		"an addition":             {"add", domain.TypeFile, manifest.Row{}, ""},
		"a file":                  {payload.ModeUpdate, domain.TypeFile, manifest.Row{Line: 7}, "line 7: an update must name its object: give its identifier in the column primaryIdentifier, or "},
		"a manifest":              {payload.ModeUpdate, domain.TypeObjectManifest, manifest.Row{Line: 8}, "line 8: an update must name its object"},
		"a container":             {payload.ModeUpdate, domain.TypeContainer, manifest.Row{}, ""},
		"a file by an identifier": {payload.ModeUpdate, domain.TypeFile, manifest.Row{PrimaryIdentifier: "ark:/99999/fk4x"}, ""},
		"a file by a local id":    {payload.ModeUpdate, domain.TypeFile, manifest.Row{LocalIdentifiers: []string{"x"}}, ""},
		"another fault":           {payload.ModeUpdate, domain.TypeFile, manifest.Row{Line: 9, Fault: &manifest.Error{Line: 9, Message: "no URL"}}, "line 9: no URL"},
	} {
		cmd := domain.CreateJob{Configuration: domain.Configuration{SubmissionMode: c.mode, PayloadType: c.of}}
		payload.FillJob(&cmd, c.row)
		f := cmd.Configuration.RowFault
		if (f == nil) != (c.says == "") || f != nil && (f.Code != domain.CodeRowFault || f.Class != domain.ClassContent || !strings.HasPrefix(f.Message, c.says)) {
			t.Errorf("%s: %+v, want %q", name, f, c.says)
		}
	}
}
