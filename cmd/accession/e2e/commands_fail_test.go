package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/accession-ingest/accession/cmd/internal/app/entries"
	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
)

// TestFailuresOfCommandsAreKept: how the command of a worker ended, and what it wrote last, are
// in the reason of each attempt, in events, in SQL, in `compute show` and over HTTP: of a worker
// here and of one over HTTP, also if a limit of the worker has ended the command. What is no
// text, and more than a kilobyte, is not.
func TestFailuresOfCommandsAreKept(t *testing.T) {
	t.Parallel()
	dir := newOpenDirectory(t)
	in := newInstallation(t, "listen_http=127.0.0.1:0")
	olga := in.keyOf("olga", "operator", "--all")
	d := in.doorOf(in.serveInProcess(run.RoleHTTP, run.RoleDaemons, run.RoleRelay, run.RoleProjector))
	program := filepath.Join(t.TempDir(), "program")
	in.must(os.WriteFile(program, []byte(`echo begun
case $ACCESSION_DATASET in
status) echo "no time axis" >&2; exit 3 ;;
never) echo "no header" >&2; exit 65 ;;
signal) kill -9 $$ ;;
slow) echo waiting; sleep 1000 ;;
memory) dd if=/dev/zero of=/dev/null bs=256M count=1; exit 4 ;;
garbage) head -c 100000 /dev/zero | tr '\0' x; printf '\n\000\033[2J\377\n'; exit 3 ;;
esac
`), 0o600))
	log, err := in.wired.Log(in.ctx())
	in.must(err)
	in.working("sh "+program, "--profile", "test", "--datasets", "status,never,signal,garbage")
	in.working("sh "+program, "--profile", "test", "--datasets", "slow", "--timeout", "300ms")
	in.working("sh "+program, "--profile", "test", "--datasets", "memory", "--memory", "64MiB")

	for _, c := range []struct {
		dataset  string
		attempts int
		code     domain.Code
		says     string
	}{
		{"status", 3, "exit_status", "the command ended with exit status 3: begun / no time axis"},
		{"never", 1, "exit_status", "the command ended with exit status 65: begun / no header"},
		{"signal", 3, "exit_status", "the command ended with exit status 137, as after signal 9 (killed): begun"},
		{"slow", 3, "compute_timeout", "the command took longer than 300ms, and was killed: begun / waiting"},
		{"memory", 3, "exit_status", "the command ended with exit status 4, under the limit of 64 MiB of memory for each process: begun / dd: memory exhausted"},
		{"garbage", 3, "exit_status", "the command ended with exit status 3: … / \ufffd\ufffd[2J\ufffd"},
		{"remote", 2, leases.CodeWorkerFailed, "no header (exit status 3): begun / \ufffd[2J / no time axis"},
	} {
		t.Run(c.dataset, func(t *testing.T) {
			t.Parallel()
			args := []string{"compute", "submit", "--dataset", c.dataset, "--input", dir.URL + "/a.txt", "-o", "json"}
			var shown entries.Work
			if c.dataset == "remote" {
				in.must(json.Unmarshal([]byte(in.says(0, args)), &shown))
				for _, never := range []string{"", `,"never":true`} {
					var w leases.Work
					d.ask(olga, "POST", "/v1/compute/claims", `{"worker":"node7","datasets":["remote"],"wait":20,"lease":600}`).into(d, &w)
					body := `{"class":"content","message":"no header","exit_status":3,"last_lines":"begun\n\u001b[2J\nno time axis\n"` + never + `}`
					d.ask(olga, "POST", "/v1/compute/claims/"+w.Token+"/fail", body).into(d, new(leases.Lease))
				}
			} else {
				in.must(json.Unmarshal([]byte(in.says(6, append(args, "--wait"))), &shown))
			}
			id := string(shown.ID)

			in.must(in.app.CatchUp(in.ctx()))
			var sql string
			in.must(in.db.QueryRow(in.ctx(), "select reason_code || ': ' || reason_message from accession.compute_entry where id = $1", id).Scan(&sql))
			d.ask(olga, "GET", "/v1/compute/entries/"+id, "").into(d, &shown)
			for what, text := range map[string]string{
				"SQL":          sql,
				"over HTTP":    shown.Reason,
				"compute show": in.says(0, []string{"compute", "show", id}),
			} {
				if !strings.Contains(text, string(c.code)+": "+c.says) || len(text) > 2<<10 || !utf8.ValidString(text) {
					t.Errorf("%s has %d bytes: %q", what, len(text), text)
				}
			}
			ended, of := 0, shown.ID.Aggregate()
			for r, err := range log.Read(in.ctx(), eventstore.ReadOptions{Aggregate: &of}) {
				in.must(err)
				m, _ := r.Data.(*domain.EntryMove)
				if m.From != entry.Staging {
					continue
				}
				ended++
				if why := m.Reason; why == nil || why.Code != c.code || !strings.HasPrefix(why.Message, c.says) || why.Worker == "" || why.Attempt != ended {
					t.Errorf("%s has the reason %+v", r.ID(), why)
				}
			}
			if ended != c.attempts {
				t.Errorf("%d attempts have ended, want %d", ended, c.attempts)
			}
		})
	}
	if bad := d.ask(olga, "POST", "/v1/compute/claims/x/fail", fmt.Sprintf(`{"class":"content","message":"no header","last_lines":%q}`, strings.Repeat("a", 4097))); bad.status != 400 && bad.status != 422 {
		t.Errorf("too many lines: %d %s", bad.status, bad.body)
	}
}
