package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
)

// isCutOff tries a bulk action that is to select so many things, begins it, and kills the process
// that carries it out after it has given the command to some of them.
func (in *installation) isCutOff(things string, after int, begin ...string) string {
	in.t.Helper()
	in.says(0, append(slices.Clone(begin), "--dry-run"), "the filter selects "+things)
	id := in.begins(begin).ID
	in.killedAt(fmt.Sprint("app/bulk/one/after:", after), "serve")
	return id
}

// TestBulkActionsOfDrops: deposits that stayed in the drop folder are let in again, and removed,
// by one bulk action each whose process is killed: each once. They are selected as `drop ls`
// selects them.
// Shows: P1 P2
func TestBulkActionsOfDrops(t *testing.T) {
	t.Parallel()
	const things = 6
	in := newInstallation(t, append(slices.Clone(forProcesses), "transfer_interval=50ms", "stop_grace=100ms", "zookeeper_session_timeout=4s")...)
	in.profileOfRocks("")
	in.configure()
	for n := range things {
		in.dropped(fmt.Sprintf("%d.txt", n), "a stone", "rocks")
	}
	other := in.droppedBy("ben", "other.txt", "a stone too", "rocks")
	profile := filepath.Join(filepath.Dir(in.profileFile()), "rocks.yaml")
	in.must(os.Rename(profile, profile+".away"))
	in.configure()
	s := in.serve()
	listed := func(what string) (page app.Page[drops.Shown]) {
		t.Helper()
		in.must(json.Unmarshal([]byte(in.says(0, words("drop ls -o json "+what))), &page))
		return page
	}
	waitFor(t, "the deposits to be refused", func() bool { return len(listed("--state refused").Items) == things+1 })
	s.stop()
	in.must(os.Rename(profile+".away", profile))
	in.configure()
	in.says(0, words("drop stop --reason x"))
	waits := in.dropped("waits.txt", "a letter", "test")

	for _, bad := range []string{"--host files.example.org", "--code checksum", "--state removed"} {
		in.says(2, words("bulk begin drop retry --dry-run "+bad))
	}
	for filter, want := range map[string]string{"--state refused": "7 deposits", "--state waiting": "1 deposit\n", "--profile rocks --submitter ben": "1 deposit\n", "--collection test": "1 deposit\n",
		"--collection rocks": "7 deposits", "--since 1h": "8 deposits", "--older-than 1h": "0 deposits"} {
		in.says(0, words("bulk begin drop retry --dry-run "+filter), "the filter selects "+want)
	}
	by := in.isCutOff(fmt.Sprint(things, " deposits"), 2, words("bulk begin drop retry --state refused --collection rocks --submitter ana --reason repaired")...)
	in.finishes(by, things, 0)
	for _, d := range listed("--submitter ana --profile rocks").Items {
		if d.Status != drops.Waiting || d.Retried == nil || d.Version != 3 || d.Retried.Command != "bulk-"+by || d.Retried.Reason != "repaired" {
			t.Errorf("%+v, %+v", d, d.Retried)
		}
	}
	by = in.isCutOff(fmt.Sprint(things, " deposits"), 3, words("bulk begin drop rm --profile rocks --submitter ana --reason mistaken")...)
	in.finishes(by, things, 0)
	removed := listed("--removed").Items
	for _, d := range removed {
		if d.Removed == nil || d.Removed.Command != "bulk-"+by || d.Removed.Reason != "mistaken" {
			t.Errorf("%+v, %+v", d, d.Removed)
		}
	}
	if left := listed("").Items; len(removed) != things || len(left) != 2 || left[0].ID != other.ID || left[1].ID != waits.ID {
		t.Errorf("%d are removed, left are %+v", len(removed), left)
	}
}

// TestBulkActionsThatSendReports: the reports of batches, and of queries, are mailed again by one
// bulk action each whose process is killed: one more mail about each. What has no report to send
// is refused.
// Shows: P11
func TestBulkActionsThatSendReports(t *testing.T) {
	t.Parallel()
	const things = 5
	in := newInstallation(t, append(slices.Clone(forProcesses), "mail_from=accession@example.org", "stop_grace=100ms", "zookeeper_session_timeout=4s")...)
	s := in.serve()
	s.works()
	var batches, queries []string
	list := filepath.Join(t.TempDir(), "list.txt")
	in.must(os.WriteFile(list, []byte("local:none\n"), 0o600))
	for n := range things {
		batch := in.deposit(n + 1)
		batches = append(batches, string(batch))
		id := fmt.Sprintf("qid%010d", n+1)
		in.says(0, []string{"query", "submit", list, "--mail", "ana@example.org", "--watch"}, id+" answered")
		queries = append(queries, id)
	}
	in.says(0, []string{"query", "submit", list, "--watch"}, " answered")
	in.shown()
	s.stop()
	for _, c := range []struct {
		kind, filter string
		of           []string
		refused      int64
	}{{"batch", "--state completed", batches, 0}, {"query", "--state answered", queries, 1}} {
		by := in.isCutOff("", 2, append(words("bulk begin "+c.kind+" send-report "+c.filter), "--reason", "the mail system lost them")...)
		in.finishes(by, things, c.refused)
		for _, id := range c.of {
			if mails, err := filepath.Glob(filepath.Join(in.dir, "mail", id+"_2fagain_2f*")); err != nil || len(mails) != 1 {
				t.Errorf("%d further mails about %s, %v", len(mails), id, err)
			}
		}
		if c.refused > 0 {
			in.says(0, words("bulk items -o json --outcome refused "+by), "no mail was asked for", string(app.Refused))
		}
	}
	if n := in.count(`select count(*) from record.audit_entry where action = 'query.send-report' and via like 'bulk-%' and outcome = 'done'`); n < things {
		t.Errorf("%d entries in the audit", n)
	}
	in.says(2, words("bulk begin batch send-report --yes"), "give at least one condition")
}
