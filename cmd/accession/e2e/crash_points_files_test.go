package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
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
	waitFor(o.t, "the entries of "+name+" to end, one of them with a result", func() bool {
		return o.count("select count(*) from accession.compute_entry where dataset = $1 and status = 'SUCCESSFUL'", name) > 0 &&
			o.count("select count(*) from accession.compute_entry where dataset = $1 and status in ('PENDING', 'STAGING', 'RUNNING')", name) == 0
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

// leased: a lease outlives the process that dies while it renews it, and the entry of one that
// is overdue waits again, once.
func leased(o *crashInstallation, point string) {
	const secret = "secret"
	dataset, at := "l"+strings.ReplaceAll(uuid.NewString(), "-", ""), port(o.t)
	o.run("compute", "submit", "--dataset", dataset, "--input", "https://data.example.org/a.nc")
	handler, err := o.wired.Handler(o.ctx())
	o.must(err)
	sum, renews := sha256.Sum256([]byte(secret)), strings.HasPrefix(point, "zklive/entry/renew/")
	lease := eventstore.Lease{Worker: "them", SHA256: hex.EncodeToString(sum[:]), Timeout: time.Nanosecond, Command: eventstore.ClaimCommand + dataset, Before: -1}
	if renews {
		lease.Timeout = time.Hour
	}
	wants, m, done := compute.Wants{Datasets: []string{dataset}}, eventstore.Meta{Actor: "user/ana"}, compute.Complete{Result: entry.Result{SHA256: "00", Size: 2}}
	taken, err := handler.LeaseEntry(o.ctx(), wants, lease, m)
	o.must(err)
	if renews {
		key := o.keyOf("u"+dataset[:20], "operator", "--all")
		o.dies(point, func(_ *os.Process, dead <-chan struct{}) {
			for {
				r, err := http.NewRequestWithContext(o.ctx(), http.MethodPost, "http://"+at+"/v1/compute/claims/"+string(taken.State.ID)+"."+secret+"/heartbeat", http.NoBody)
				o.must(err)
				r.Header.Set("Authorization", "Bearer "+key)
				if a, err := http.DefaultClient.Do(r); err == nil {
					_ = a.Body.Close()
				}
				select {
				case <-dead:
					return
				case <-time.After(50 * time.Millisecond):
				}
			}
		}, "serve", "--roles", "http", "--set", "listen_http="+at)
		o.keepsResult(taken.State, done.Result.SHA256)
		_, err = handler.EndLease(o.ctx(), taken.State.ID, lease.SHA256, done, m)
		o.must(err)
	} else {
		o.dies(point, nil, "serve")
		s := o.serve()
		s.works()
		again, err := handler.TakeEntry(o.ctx(), wants, m)
		o.must(err)
		if again.State.ID != taken.State.ID || again.State.Attempt != 2 {
			o.t.Errorf("%s: %+v", point, again.State)
		}
		o.keepsResult(again.State, done.Result.SHA256)
		_, err = handler.EndEntry(o.ctx(), again, done, m)
		o.must(err)
		s.stop()
	}
}
