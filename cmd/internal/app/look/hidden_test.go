package look

import (
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// TestHidden: no text shows the secret of a URL or where the working directory is; all else
// stays as it is.
func TestHidden(t *testing.T) {
	t.Parallel()
	kept := "https://h/a?redacted=0123456789abcdef"
	for in, want := range map[string]string{
		`{"url":"https://u:hunter2@h/a?sig=hunter2","n":12345678901234567890}`:     `{"n":12345678901234567890,"url":"https://h/a?..."}`,
		`{"a":["see HTTPS://h/a?x=1\u0026sig=hunter2 there"],"b":{"c":"<plain>"}}`: `{"a":["see https://h/a?... there"],"b":{"c":"<plain>"}}`,
		`"` + kept + `"`:              `"` + kept + `"`,
		`05`:                          `05`,
		``:                            ``,
		`no JSON ftp://u:hunter2@h/a`: `no JSON ftp://h/a`,
		"\xffhttps://h/?hunter2":      "\uFFFDhttps://h/?...",
		`"/data/place"`:               `"/data/place"`,
	} {
		if got := data(in); got != want || strings.Contains(got, "hunter2") {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
	line := "https://h/a.txt?token=hunter2 | sha-256 | 00 | 12 | | a.txt\n<file url='https://h/b?token=hunter2'/>"
	if got := text(line); strings.Contains(got, "hunter2") || !strings.Contains(got, " | sha-256 | 00 | 12 | | a.txt\n<file url='https://h/b?...'/>") {
		t.Error(got)
	}
	c := domain.Configuration{BatchID: "bid0000000001", WorkingDir: "/srv/inner/jobs/bid0000000001/jid0000000002"}
	if got := hidden(c, `{"working_dir":"/srv/inner/jobs/bid0000000001/jid0000000002","why":"write /srv/inner/jobs/x"}`); got != `{"working_dir":"bid0000000001/jid0000000002","why":"write x"}` {
		t.Error(got)
	}
	if got := hidden(domain.Configuration{}, "/a/b"); got != "/a/b" {
		t.Error(got)
	}
}
