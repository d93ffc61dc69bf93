package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
)

// TestFilesOfTheMachine: a manifest in a directory of the service's machine that the profile opens
// is deposited with the files that it names there; what it names elsewhere fails its own job, and
// without the profile's word nothing there is read. That it is a manifest is found out there.
func TestFilesOfTheMachine(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	dir := t.TempDir()
	url := "file://" + dir + "/"
	for name, content := range map[string]string{"a.txt": "low\n", "ä b.txt": "high\n"} {
		in.must(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	secret := filepath.Join(t.TempDir(), "secret.txt")
	in.must(os.WriteFile(secret, []byte("not for all"), 0o600))
	in.must(os.Symlink(secret, filepath.Join(dir, "link.txt")))
	in.must(os.WriteFile(filepath.Join(dir, "batch.checkm"), checkm("mrt-single-file-batch-manifest", batchColumns,
		url+"a.txt | | | | | | | | A | Low | 2026", url+"%C3%A4%20b.txt | | | | | | | | A | High | 2026",
		url+"link.txt | | | | | | | | A | Link | 2026", "file://"+secret+" | | | | | | | | A | Secret | 2026"), 0o600))
	deposit := func() app.BatchReportView {
		t.Helper()
		s, err := in.app.Submit(in.ctx(), app.Deposit{Profile: "test", Submitter: "ana", Payload: url + "batch.checkm"})
		in.must(err)
		run := in.serve()
		run.works()
		report := in.rest(s.Batch)
		run.stop()
		in.shown()
		return report
	}
	if r := deposit(); len(r.Jobs) != 0 || deref(r.ReasonCode) != string(fetch.CodeAddressRefused) {
		t.Errorf("without the profile's word: %+v", r)
	}
	in.editProfile("allow: [", "allow: ['"+url+"', ")
	in = in.with()
	var went []string
	for _, j := range deposit().Jobs {
		went = append(went, j.Status+" "+deref(j.ReasonCode))
	}
	if want := []string{"completed none", "completed none", "failed http_status", "failed address_refused"}; !slices.Equal(went, want) {
		t.Errorf("%q, not %q", went, want)
	}
	stored := in.content(in.cfg.Store)
	for name, content := range stored {
		if strings.Contains(content, "not for all") {
			t.Errorf("%s was stored", name)
		}
	}
	if n := in.count("select count(*) from record.object_file where kind = 'producer'"); n != 2 {
		t.Errorf("%d files are stored", n)
	}
}
