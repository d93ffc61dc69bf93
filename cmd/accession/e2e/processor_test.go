package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// TestProcessorWorkers: a processor has as many workers as it says, and as the setting says
// once it says nothing; each reads a manifest that does not come.
func TestProcessorWorkers(t *testing.T) {
	t.Parallel()
	in := newPatient(t, "workers=batch-pending=8", "stop_grace=10ms")
	bad := newHolder(t, http.MethodGet, false)
	in.says(0, words("processor stop metadata default --reason x"))
	in.says(0, words("processor add metadata films --workers 1 --reason x"))
	in.serveInProcess()
	for _, user := range []string{"ana", "ben", "carl", "dan"} {
		in.depositBy(user, bad.URL+"/bad", domain.TypeBatchManifest)
	}
	bad.holds(t, 1)
	in.says(0, words("queue board metadata"), "3 waiting, 1 running")
	in.says(0, words("processor set metadata films --workers 2 --reason x"))
	bad.holds(t, 3) // the one that was taken away ends its step first
	in.says(0, words("queue board metadata"), "1 waiting, 3 running")
	in.says(0, words("processor set metadata films --workers 0 --reason x"))
	bad.holds(t, 4)
}

// TestQueryProcessors: processors of the query queue serve whom they require, those of the
// configuration and those that are added while the service runs, and nothing while they are
// stopped; limits of a user hold.
func TestQueryProcessors(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "prohibited_users=cleo", "processors=query-default query-lists?users=cleo")
	in.open()
	in.serveInProcess()
	list := filepath.Join(t.TempDir(), "list.txt")
	in.must(os.WriteFile(list, []byte("local:none\n"), 0o600))
	ask := func(user string) string {
		t.Helper()
		return strings.Fields(in.says(0, words("query submit --submitter "+user+" "+list)))[0]
	}
	answered := func(id string) {
		t.Helper()
		in.await("the answer to "+id, 0, func(r domain.Recorded) bool { return r.Aggregate.ID == id && r.Type == domain.EventQueryAnswered })
	}
	answered(ask("cleo"))
	in.says(0, words("queue prohibit query ana --reason x"))
	first := ask("ana")
	answered(ask("ben"))
	in.says(0, words("processor add query films --users ana --workers 2 --reason x"))
	answered(first)
	in.says(0, words("processor stop query films --reason x"))
	second := ask("ana")
	in.says(0, words("queue limit query ben --concurrency 0 --reason x"))
	third := ask("ben")
	answered(ask("cleo"))
	answered(ask("dan"))
	by, grabs := map[string]string{"ana": "films", "ben": "default", "cleo": "lists", "dan": "default"}, map[string]int{}
	for _, r := range in.history() {
		if d, ok := r.Data.(*domain.QueryGrabbed); ok {
			if grabs[d.Ticket.User]++; d.Processor != by[d.Ticket.User] || r.Aggregate.ID == second || r.Aggregate.ID == third {
				t.Errorf("%s of %s was grabbed by %s", r.Aggregate, d.Ticket.User, d.Processor)
			}
		}
	}
	if grabs["ana"] != 1 || grabs["ben"] != 1 || grabs["cleo"] != 2 || grabs["dan"] != 1 {
		t.Errorf("grabs of each user: %v", grabs)
	}
	in.says(0, words("processor start query films --reason x"))
	in.says(0, words("queue unlimit query ben --reason x"))
	answered(second)
	answered(third)
	in.agree()
}
