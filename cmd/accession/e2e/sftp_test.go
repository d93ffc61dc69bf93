package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/internal/testkit/sftpserver"
)

// TestFilesByServersOfSFTP: a manifest on a server of SFTP is deposited with the files that it
// names there, its type found out by its content; a file of another directory of the same user
// fails its own job.
func TestFilesByServersOfSFTP(t *testing.T) {
	t.Parallel()
	s, dir := sftpserver.New(t), t.TempDir()
	in := newInstallation(t, "sftp_key="+s.KeyFile, "sftp_known_hosts="+s.KnownHosts)
	url, other := "sftp://"+s.Addr+dir+"/", t.TempDir()
	in.must(os.WriteFile(filepath.Join(dir, "a.txt"), []byte("low\n"), 0o600))
	in.must(os.WriteFile(filepath.Join(dir, "b.bin"), make([]byte, 5<<20), 0o600))
	in.must(os.WriteFile(filepath.Join(other, "secret.txt"), []byte("not for all"), 0o600))
	in.must(os.WriteFile(filepath.Join(dir, "batch.checkm"), checkm("mrt-single-file-batch-manifest", batchColumns,
		url+"a.txt | | | | | | | | A | Low | 2026", url+"b.bin | | | | | | | | A | Large | 2026",
		url+"none.txt | | | | | | | | A | None | 2026", "sftp://"+s.Addr+other+"/secret.txt | | | | | | | | A | Secret | 2026"), 0o600))
	in.editProfile("allow: [", "allow: ['sftp://"+sftpserver.User+"@"+s.Addr+dir+"/', ")
	in = in.with()
	run := in.serve("--roles", "all,http", "--set", "listen_http=127.0.0.1:0")
	run.works()
	var d app.Submitted
	front := in.doorOf(run)
	front.ask(in.keyOf("ana", "depositor", "--all"), "POST", "/v1/submissions", fmt.Sprintf(`{"profile":"test","url":%q}`, url+"batch.checkm")).into(front, &d)
	report := in.rest(d.Batch)
	run.stop()
	in.shown()
	var went []string
	for _, j := range report.Jobs {
		went = append(went, j.Status+" "+deref(j.ReasonCode))
	}
	if want := []string{"completed none", "completed none", "failed http_status", "failed address_refused"}; !slices.Equal(went, want) {
		t.Errorf("%q, not %q", went, want)
	}
	for name, content := range in.content(in.cfg.Store) {
		if strings.Contains(content, "not for all") {
			t.Errorf("%s was stored", name)
		}
	}
}
