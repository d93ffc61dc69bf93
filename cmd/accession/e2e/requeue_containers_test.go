package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	names "github.com/accession-ingest/accession/cmd/internal/mint/service"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/container"
	"github.com/accession-ingest/accession/internal/testkit/minter"
)

// boxLimits are what the profiles say that the containers of boxProfiles are deposited with.
var boxLimits = map[string]string{
	"small": "limits: {max_file_bytes: 1000, max_unpacked_bytes: 1500}", "steep": "limits: {max_ratio: 100000}",
}

// boxOf are the files of a good container of a directory.
func boxOf(dir string) map[string]string {
	return map[string]string{"a.txt": "a of " + dir + "\n", "b/two.txt": "two of " + dir + "\n"}
}

// TestRequeueOfContainers: containers that may not be unpacked, for each code that says why, are
// fetched once more when their jobs are requeued, unpacked and stored. Those whose job failed after
// they were unpacked, by a minter, by the store when a part of their files was stored, or in the
// inventory, are neither fetched nor unpacked again: each file has one life, and what was stored is
// not written again.
// Shows: P5
func TestRequeueOfContainers(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0", "minter_credentials=unnamed:apitest:s3cret")
	server := newWilful(t)
	server.bad, server.good = map[string]http.HandlerFunc{}, map[string][]byte{}
	deposit := app.Deposit{Payload: "box.zip", Type: domain.TypeContainer}
	var refused []*failing
	boxes, had := badBoxes(t), map[domain.Code]bool{}
	for _, name := range slices.Sorted(maps.Keys(boxes)) {
		box := boxes[name]
		if had[box.code] || box.code == container.CodeERC {
			continue // of its citation see elsewhere
		}
		had[box.code] = true
		server.bad[string(box.code)] = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(box.content) }
		refused = append(refused, &failing{name: string(box.code), lines: boxLimits[boxProfiles[name]], deposit: deposit, row: "J16", code: box.code, class: domain.ClassContent,
			again: map[string]int{"GET box.zip": 1}})
	}

	refusing := minter.New(t, minter.Options{Shoulder: "ark:/99999/fk4", User: "apitest", Password: "s3cret"})
	refusing.Fail(minter.Fault{Status: http.StatusUnauthorized, Body: "error: unauthorized - authentication failure"})
	own := deposit
	own.Primary = "ark:/99999/fk4ownbox"
	producer := filepath.Join(in.dir, "store", store.VersionPrefix(own.Primary, 1), "producer")
	second := filepath.Join(producer, "b", "two.txt")
	taken := []string{second, second + "~" + sha256Text(boxOf("partly")["b/two.txt"])[:32]}
	for _, at := range taken {
		in.must(os.MkdirAll(filepath.Dir(at), 0o755))
		in.must(os.WriteFile(at, []byte("another\n"), 0o600))
	}
	var damaged string
	var whole []byte
	unnamed := &failing{name: "unnamed", lines: identifiers(refusing, false), deposit: deposit, row: "J17", code: names.CodeUnauthorized, class: domain.ClassSystem}
	partly := &failing{name: "partly", deposit: own, row: "J17", code: reason.CodeStorage, class: domain.ClassSystem,
		mend: func(string) {
			for _, at := range taken {
				in.must(os.Remove(at))
			}
		}}
	stored := &failing{name: "whole", deposit: deposit, row: "J18", code: reason.CodeStorage, class: domain.ClassSystem, state: domain.JobRecording,
		damage: func(job string) { damaged = in.primaryOf(job); whole = in.damageManifest(damaged) },
		mend:   func(string) { in.must(os.WriteFile(in.manifestOf(damaged), whole, 0o600)) }}
	unpacked := []*failing{unnamed, partly, stored}

	all := slices.Concat(refused, unpacked)
	for _, f := range all {
		server.good[f.name] = zipOf(t, boxOf(f.name))
		in.makeProfile(server, f)
	}
	in.serveToRewrite()
	for _, f := range all {
		if f.state == "" {
			in.depositFailing(server, f)
		}
	}
	in.failsIn(domain.JobRecording, server, stored)
	in.haveFailed(server, all)
	if t.Failed() {
		return
	}
	first, err := os.Stat(filepath.Join(producer, "a.txt"))
	in.must(err)
	lives := map[*failing]int{}
	for _, f := range unpacked {
		in.must(os.Remove(filepath.Join(in.workOf(f.job), "box.zip"))) // it is not unpacked again
		lives[f] = in.begunLives(f.job)
		if n := in.count("select count(distinct e.aggregate_id) from accession.event e join accession.file f on f.raw_file_hash = e.aggregate_id where f.job_id = $1 and e.type = 'file.ready'", f.job); n != len(boxOf("")) {
			t.Errorf("%s: %d files were unpacked before it failed, want %d", f.name, n, len(boxOf("")))
		}
	}
	server.mend()
	in.areRequeued(server, all)
	if now, err := os.Stat(filepath.Join(producer, "a.txt")); err != nil || !os.SameFile(first, now) || !now.ModTime().Equal(first.ModTime()) {
		t.Errorf("the file that was stored before its container's job failed was written again: %v", err)
	}
	for _, f := range unpacked {
		if n := in.begunLives(f.job); n != lives[f] {
			t.Errorf("%s: its files and its container were found, downloaded or made ready %d times, %d before the requeue", f.name, n, lives[f])
		}
	}
	for _, f := range all {
		in.boxStored(f)
	}
	if _, made := refusing.Records(); made != 1 {
		t.Errorf("the minter that refused has made %d identifiers", made)
	}
	in.agree()
	in.says(0, words("verify"))
}

// begunLives counts what is done with the files of a job before any of them is processed.
func (in *installation) begunLives(job string) int {
	in.t.Helper()
	return in.count("select count(*) from accession.event e join accession.file f on f.raw_file_hash = e.aggregate_id where f.job_id = $1 and "+
		"e.type in ('file.discovered', 'file.download_started', 'file.downloaded', 'file.ready', 'file.requeued')", job)
}

// boxStored checks that each file of a container that was good in the end was processed, and once.
func (in *installation) boxStored(f *failing) {
	in.t.Helper()
	const once = "select count(*) from accession.file f where job_id = $1 and path = $2 and status = 'PROCESSED' and sha256 = $3 and " +
		"(select count(*) from accession.event e where e.aggregate_id = f.raw_file_hash and e.type = 'file.processed') = 1"
	for name, text := range boxOf(f.name) {
		sum := sha256.Sum256([]byte(text))
		if n := in.count(once, f.job, name, hex.EncodeToString(sum[:])); n != 1 {
			in.t.Errorf("%s: %q was not processed once", f.name, name)
		}
	}
}
