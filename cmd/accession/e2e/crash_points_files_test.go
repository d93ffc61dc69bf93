package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
)

// processes: a file of an open directory is processed once, whichever process died, and each of
// its entries ends with its attempt.
func processes(o *crashInstallation, point string) {
	dir, name := newOpenDirectory(o.t, "a.txt 20-Nov-2026 09:05 23"), "d"+strings.ReplaceAll(uuid.NewString(), "-", "")
	rules := filepath.Join(o.t.TempDir(), "rules.json")
	o.must(os.WriteFile(rules, []byte(`{"process":{}}`), 0o600))
	o.run("dataset", "add", name, "--profile", "test", "--rules", rules, "--reason", "to try it")
	o.run("discover", "add", dir.URL+"/night/", "--dataset", name, "--name", name, "--every", "1s", "--reason", "to try it")
	work := func(command string) []string {
		return []string{"compute", "worker", "--datasets", name, "--exec", command}
	}
	if strings.HasPrefix(point, "compute/file/request/") {
		o.dies(point, nil, "serve")
	}
	s := o.serve()
	s.works()
	switch {
	case strings.HasPrefix(point, "attempt/file/fail/"), strings.HasPrefix(point, "attempt/file/retry/"):
		o.dies(point, nil, work("exit 3")...)
	case strings.HasPrefix(point, "attempt/"):
		o.dies(point, nil, work("wc -c < {in} > {out}")...)
	}
	next := o.command(work("wc -c < {in} > {out}")...)
	o.must(next.Start())
	o.fileBecomes(name, domain.FileProcessed)
	waitFor(o.t, "the entries of "+name+" to end", func() bool {
		return o.count("select count(*) from accession.compute_entry where dataset = $1 and status in ('PENDING', 'STAGING')", name) == 0
	})
	_ = next.Process.Signal(syscall.SIGTERM)
	_ = next.Wait() // it was stopped
	s.stop()
	if n := o.count("select count(*) from accession.compute_entry where dataset = $1 and status = 'SUCCESSFUL'", name); n != 1 {
		o.t.Errorf("%s: %d entries have a result", point, n)
	}
	if n := o.count("select count(*) from accession.event where type = 'file.processed' and aggregate_id = $1", string(dir.hash("a.txt"))); n != 1 {
		o.t.Errorf("%s: the file was processed %d times", point, n)
	}
	o.run("discover", "rm", name, "--reason", "tried")
}
