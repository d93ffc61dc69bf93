package cli

import (
	"flag"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/projections/projtest"
)

// write makes the test of the page write it: make documents.
var write = flag.Bool("write", false, "update the outputs in docs/reports.md")

// told is a command in a page, with its output if it was written yet.
var told = regexp.MustCompile("(?s)```console\n\\$ accession (.*?)\n(.*?)```\n")

// story fills tables with the classic complaint, and returns the settings under which
// the program finds them.
func story(t *testing.T) (environ []string) {
	t.Helper()
	s, db := projtest.NewStory(t), projtest.DB(t)
	s.Classic()
	s.Directory()
	s.Project(db)
	s.Record(db)
	projtest.Listings(t, db, s.Now)
	at, err := url.Parse(os.Getenv(projtest.Env))
	if err != nil {
		t.Fatal(err)
	}
	at.Path = "/" + db.Config().ConnConfig.Database
	return []string{"ACCESSION_POSTGRES=" + at.String()}
}

// TestExamplesOfReports runs every command of docs/reports.md that shows its output.
func TestExamplesOfReports(t *testing.T) {
	t.Parallel()
	const page = "../../../docs/reports.md"
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	environ, n := story(t), 0
	want := told.ReplaceAllStringFunc(string(have), func(block string) string {
		n++
		command := told.FindStringSubmatch(block)[1]
		code, out, errs := call(t, environ, strings.Fields(command)...)
		if code != 0 {
			t.Fatalf("accession %s: exit code %d\n%s", command, code, errs)
		}
		out = regexp.MustCompile(`"made":"[^"]*"`).ReplaceAllString(out, `"made":"2026-03-02T08:00:00Z"`)
		return "```console\n$ accession " + command + "\n" + out + "```\n"
	})
	if n < 8 {
		t.Errorf("the page has only %d examples", n)
	}
	if *write {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(have), want); diff != "" {
		t.Errorf("docs/reports.md is out of date; run `make documents`:\n%s", diff)
	}
}

// TestReportsToFiles: a file is whole, a drawing is a picture, and what does not fit
// is said.
func TestReportsToFiles(t *testing.T) {
	t.Parallel()
	environ, dir := story(t), t.TempDir()
	for args, begins := range map[string]string{
		"report states --format png --out " + dir + "/states.png":                                                                  "\x89PNG",
		"report throughput --format svg --out " + dir + "/days.svg":                                                                "<?xml",
		"report batch --batch bid0000000001 --format html --out " + dir + "/batch.html":                                            "<!DOCTYPE html>",
		"report retries --format csv --out " + dir + "/retries.csv":                                                                "batch_id,job_id,kind",
		"report batch --batch bid0000000001 --format mail --from a@a.test --to b@a.test --to c@a.test --out " + dir + "/batch.eml": "Auto-Submitted: auto-generated\r\n",
		"report batch --batch bid0000000002 -o json --out " + dir + "/batch.json":                                                  `{"report":"batch"`,
		"report batch --batch bid0000000001 --format csv --table attempts --out " + dir + "/a":                                     "batch_id,job_id,kind",
	} {
		name := args[strings.LastIndex(args, " ")+1:]
		code, out, errs := call(t, environ, strings.Fields(args)...)
		data, err := os.ReadFile(name)
		if code != 0 || out != "" || err != nil || !strings.HasPrefix(string(data), begins) {
			t.Errorf("accession %s: exit code %d, %q, %v\n%s", args, code, data[:min(len(data), 40)], err, errs)
		}
	}
	for args, says := range map[string]string{
		"report batch --batch bid0000000001 --format png":           "has no chart",
		"report batch --batch bid0000000001 --format csv --table x": `no table "x": choose one of causes, jobs, warnings, attempts, reports`,
		"report batch --batch bid0000000001 --table jobs":           "--table needs --format csv",
		"report weather":                "there is no such report",
		"report failures --format mail": "a mail needs --from and --to",
		"report batch --batch bid0000000001 --format mail --to a@a.test":          "a mail needs --from and --to",
		"report batch --batch bid0000000001 --format mail --from a --to a@a.test": "from: not an address",
		"report batch --batch bid0000000001 --from a@a.test --to a@a.test":        "need --format mail",
		"report states --format csv --out " + dir + "/states.png":                 "exists already",
		"report submitters --batch bid0000000001":                                 "it cannot be narrowed to a batch",
		"report batch --batch 7":                                                  `"7" is not an id`,
	} {
		if code, _, errs := call(t, environ, strings.Fields(args)...); code == 0 || !strings.Contains(errs, says) {
			t.Errorf("accession %s: exit code %d does not say %q:\n%s", args, code, says, errs)
		}
	}
}
