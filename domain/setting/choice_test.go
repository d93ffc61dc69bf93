package setting_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain/setting"
)

// TestChooseTimeout: the installation's setting decides, then the processes that serve, and
// a process's own configuration only where neither is known, and says so.
func TestChooseTimeout(t *testing.T) {
	t.Parallel()
	const h = time.Hour
	for name, c := range map[string]struct {
		set    time.Duration
		served []time.Duration
		want   setting.Choice
		note   string
	}{
		"set":              {3 * h, []time.Duration{5 * h, 2 * h}, setting.Choice{Timeout: 3 * h, Source: setting.SourceInstallation, Served: []time.Duration{2 * h, 5 * h}}, ""},
		"served":           {0, []time.Duration{2 * h, 2 * h}, setting.Choice{Timeout: 2 * h, Source: setting.SourceService, Served: []time.Duration{2 * h}}, ""},
		"served otherwise": {0, []time.Duration{2 * h, 5 * h, h}, setting.Choice{Timeout: 5 * h, Source: setting.SourceService, Served: []time.Duration{h, 2 * h, 5 * h}}, "of 1h0m0s, 2h0m0s, 5h0m0s; `accession timeouts set`"},
		"served by older":  {0, []time.Duration{0, 2 * h}, setting.Choice{Timeout: 2 * h, Source: setting.SourceService, Served: []time.Duration{2 * h}}, ""},
		"only by older":    {0, []time.Duration{0}, setting.Choice{Timeout: 7 * h, Source: setting.SourceConfiguration}, "download_timeout of this process, 7h0m0s"},
		"nothing":          {0, nil, setting.Choice{Timeout: 7 * h, Source: setting.SourceConfiguration}, "no process that serves"},
	} {
		got := setting.ChooseTimeout(c.set, c.served, 7*h)
		if got.Timeout != c.want.Timeout || got.Source != c.want.Source || !slices.Equal(got.Served, c.want.Served) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		if note := got.Note("download"); (note == "") != (c.note == "") || !strings.Contains(note, c.note) {
			t.Errorf("%s: the note is %q, want one with %q", name, note, c.note)
		}
	}
}
