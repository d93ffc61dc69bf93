package e2e

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
)

// filtersOfAll are the filters that lists have in common.
var filtersOfAll = []string{"batch", "profile", "collection", "submitter", "state", "code", "host", "since", "older_than"}

// filtersIn returns those of the filters that lists have in common that an input takes.
func filtersIn(t reflect.Type) (filters []string) {
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("query"), ","); slices.Contains(filtersOfAll, name) {
			filters = append(filters, name)
		}
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			filters = append(filters, filtersIn(f.Type)...)
		}
	}
	return filters
}

// listed returns the ids of the items of a list, each of which has one.
func (in *installation) listed(line, out string) (ids []string) {
	in.t.Helper()
	var page app.Page[struct {
		ID any `json:"id"` // the sequence of an entry of the audit is a number
	}]
	in.must(json.Unmarshal([]byte(out), &page))
	for _, item := range page.Items {
		id, _ := json.Marshal(item.ID)
		if ids = append(ids, string(id)); item.ID == nil || item.ID == "" {
			in.t.Errorf("accession %s: an item has no id:\n%s", line, out)
		}
	}
	return ids
}

// TestFiltersOfAllLists: every list of the table of operations, without a filter and with each of
// those that it takes, says over HTTP what it says to who reaches the servers, and its items have
// ids. With a condition that holds for what is there it has that, and with one that does not,
// nothing.
func TestFiltersOfAllLists(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "drop_dir="+t.TempDir())
	in.profileOfRocks("")
	server := goodServer(t)
	stop := in.serveInProcess().stop
	batch := in.depositFor("test", "ana", server+"/batch.checkm", domain.TypeBatchManifest)
	in.firstOf(batch, "test")
	failed := in.depositFor("test", "ana", webServer(t, rowsThatFail(1))+"/rows.checkm", domain.TypeFileBatchManifest)
	in.rest(failed)
	stop()
	in.says(0, words("user add newcomer"))
	in.says(0, words("drop stop --reason x"))
	in.says(0, words("queue suspend query --reason x"))
	in.says(0, words("dataset add nights --profile test --reason images"))
	in.says(0, words("discover add "+server+"/nights/ --name nights --dataset nights --every 1h --reason images"))
	in.dropped("waits.txt", "a letter", "test")
	list := filepath.Join(t.TempDir(), "list.txt")
	in.must(os.WriteFile(list, []byte("local:none\n"), 0o600))
	in.says(0, []string{"query", "submit", list, "--submitter", "ana"})
	in.says(0, words("intake close metadata --user eve --message x --reason x"))
	in.says(0, words("bulk begin job hold --batch "+string(batch)+" --yes --no-wait"))
	in.says(0, words("timeouts set download=2h --reason x"))
	in.serveInProcess() // and the tables show it
	in.shown()

	d := in.door()
	environ := []string{"HOME=" + t.TempDir(), "ACCESSION_SERVER=" + d.url, "ACCESSION_API_KEY=cy admin/*"}
	over := func(args []string) (int, string) {
		var o, e bytes.Buffer
		code := cli.Main(in.ctx(), args, cli.IO{Out: &o, Err: &e, Environ: environ})
		return code, o.String()
	}
	at, err := url.Parse(server)
	in.must(err)
	const long, never = "2099-01-01", "no_such_code"
	// The values of each filter that choose what is there, and that choose nothing.
	chooses := map[string][2]string{"batch": {string(batch), ""}, "profile": {"test", "rocks"}, "collection": {"test", "rocks"}, "submitter": {"ana", "newcomer"},
		"code": {"", never}, "host": {at.Host, "data.example.org"}, "since": {"1h", long}, "older_than": {long, "1h"}}
	states := map[string][2]string{"batch": {"completed", "held"}, "job": {"completed", "held"}, "file": {"PROCESSED", "ABANDONED"}, "query": {"received", "failed"}, "drop": {"waiting", "refused"},
		"slot": {"", "MISSED"}, "discover": {"", "paused"}, "compute": {"", "FAILED"}, "bulk": {"", "cancelled"}}
	// Lists that have nothing here, and filters that choose nothing of what is there.
	empty := []string{"slot", "compute", "poison", "file host", "query code", "file code", "discover host", "bulk since", "bulk older_than"}
	tried := 0
	for _, op := range operation.Table() {
		noun, verb, _ := strings.Cut(op.Name, ".")
		filters := filtersIn(op.Input)
		if verb != "ls" && op.Name != "intake.show" && op.Name != "compute.workers" {
			continue
		}
		try := func(filter, value string) []string {
			t.Helper()
			args := []string{noun, verb, "-o", "json"}
			if value != "" {
				args = append(args, "--"+strings.ReplaceAll(filter, "_", "-"), value)
			}
			line := strings.Join(args, " ")
			tried++
			code, here, errs := in.call(args...)
			there, answer := over(args)
			if code != 0 || there != 0 || ofOneTime.ReplaceAllString(here, "") != ofOneTime.ReplaceAllString(answer, "") {
				t.Errorf("accession %s: exit code %d, over HTTP %d\n%s%s\nover HTTP\n%s", line, code, there, here, errs, answer)
				return nil
			}
			return in.listed(line, here)
		}
		try("", "")
		for _, filter := range filters {
			values := chooses[filter]
			if filter == "state" {
				values = states[noun]
			}
			if has := values[0]; has != "" && len(try(filter, has)) == 0 && !slices.Contains(empty, noun) && !slices.Contains(empty, noun+" "+filter) {
				t.Errorf("accession %s %s --%s %s has nothing", noun, verb, filter, has)
			}
			if not := values[1]; not != "" && noun+" "+filter != "profile collection" { // each has a profile
				if ids := try(filter, not); len(ids) > 0 {
					t.Errorf("accession %s %s --%s %s has %v", noun, verb, filter, not, ids)
				}
			}
			if values == ([2]string{}) {
				t.Errorf("%s has the filter %s: say what chooses something", op.Name, filter)
			}
		}
	}
	if tried < 120 {
		t.Errorf("only %d lists were compared", tried)
	}
}
