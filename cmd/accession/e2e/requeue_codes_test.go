package e2e

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/daemon/entrust"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/mint"
	names "github.com/accession-ingest/accession/cmd/internal/mint/service"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/container"
	"github.com/accession-ingest/accession/internal/testkit/minter"
	"github.com/accession-ingest/accession/internal/testkit/stepserver"
)

// mintingFaults are the answers of a minter after which a job fails, by the name of its deposit.
var mintingFaults = map[string]struct {
	code   domain.Code
	faults []minter.Fault
}{
	"minter-refuses": {names.CodeRefused, []minter.Fault{{Status: http.StatusBadRequest, Body: "error: bad request - no such target"}}},
	"minter-has": {names.CodeTaken, []minter.Fault{{Status: http.StatusBadRequest, Body: "error: bad request - identifier already exists, cannot create"},
		{Status: http.StatusOK, Body: "success: ark:/99999/fk4\n_target: https://files.test/another\n"}}},
	"minter-strange": {names.CodeAnswer, []minter.Fault{{Status: http.StatusOK, Body: "<html>welcome</html>"}}},
}

// accounts are the lines of minter_credentials for them.
var accounts = func() (lines string) {
	for name := range mintingFaults {
		lines += "\n" + name + ":apitest:s3cret"
	}
	return lines
}()

// furtherFailures returns failing deposits for codes of fetching, uploads, downloaded files,
// identifiers and services.
func (in *installation) furtherFailures() (all []*failing) {
	upload := filepath.Join(in.t.TempDir(), "upload.txt")
	in.must(os.WriteFile(upload, []byte("an upload\n"), 0o600))
	var kept, aside, worked, put string
	late := stepserver.New(in.t, "", "")
	late.Later(1 << 30)
	minted := mint.Minter{Authority: "99999", Shoulder: "fk4"}
	all = append(all,
		&failing{name: "astray", row: "J16", code: fetch.CodeRedirectRefused, class: domain.ClassContent, again: map[string]int{"GET a.txt": 1}},
		&failing{name: "closed", edit: [2]string{"127.0.0.1/32", "127.0.0.9/32"}, row: "J16", code: fetch.CodeAddressRefused, class: domain.ClassContent, again: map[string]int{"GET a.txt": 1}},
		&failing{name: "upload", deposit: app.Deposit{Payload: upload}, row: "J16", code: reason.CodeUploadMissing, class: domain.ClassContent, state: domain.JobPending,
			damage: func(string) {
				all, err := filepath.Glob(filepath.Join(in.dir, "store", "uploads", "*", "*", "*"))
				in.must(err)
				if len(all) != 1 {
					in.t.Fatalf("the uploads are %q", all)
				}
				kept, aside = all[0], filepath.Join(in.t.TempDir(), "aside")
				in.must(os.Rename(kept, aside))
			},
			mend: func(string) { in.must(os.Rename(aside, kept)) }},
		&failing{name: "uploaded", lines: "limits: {max_file_bytes: 4}", deposit: app.Deposit{Payload: upload}, row: "J16", code: reason.CodeFileTooLarge, class: domain.ClassContent,
			mend: func(profile string) { in.rewrite(profile, "max_file_bytes: 4", "max_file_bytes: 1000") }},
		&failing{name: "crawls", deposit: app.Deposit{Payload: "bad.txt"}, edit: [2]string{"attempts: 2, timeout: 2s", "attempts: 1, timeout: 1h"}, row: "J16", code: fetch.CodeTooSlow, class: domain.ClassTimeout,
			again: map[string]int{"GET bad.txt": 1}},
		&failing{name: "late", lines: "service_timeout: 1s\nrecording: " + late.URL, row: "J18", code: entrust.CodeLate, class: domain.ClassTimeout, mend: func(string) { late.Finish() }},
		&failing{name: "gone", row: "J17", code: reason.CodeFilesMissing, class: domain.ClassSystem, state: domain.JobProcessing,
			damage: func(job string) {
				worked, put = in.workOf(job), filepath.Join(in.t.TempDir(), "work")
				in.must(os.Rename(worked, put))
			},
			mend: func(string) { in.must(os.Rename(put, worked)) }},
		&failing{name: "taken", row: "J17", code: record.CodeIdentifierTaken, class: domain.ClassSystem, state: domain.JobProcessing,
			damage: func(job string) {
				name, err := minted.Derive(job)
				in.must(err)
				in.exec("insert into record.identifier (job_id, name, state) values ('another', $1, 'done')", name)
			},
			mend: func(string) { in.exec("delete from record.identifier where job_id = 'another'") }},
	)
	for name, m := range mintingFaults {
		server := minter.New(in.t, minter.Options{Shoulder: "ark:/99999/fk4", User: "apitest", Password: "s3cret"})
		server.Fail(m.faults...)
		all = append(all, &failing{name: name, lines: identifiers(server, false), row: "J17", code: m.code, class: domain.ClassSystem})
	}
	return all
}

// workOf returns the directory of the files that a job has downloaded.
func (in *installation) workOf(job string) (dir string) {
	in.t.Helper()
	in.must(filepath.WalkDir(in.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "files" && strings.Contains(path, job) {
			dir = path
		}
		return err
	}))
	if dir == "" {
		in.t.Fatalf("%s has no working directory", job)
	}
	return dir
}

// elsewhere are codes of failed jobs, with the test that requeues one.
var elsewhere = map[string]string{
	"service_unauthorized": "TestServicesThatDoNotWork",
	"service_refused":      "TestServicesThatDoNotWork",
	"service_unavailable":  "TestServicesThatDoNotWork",
	"service_answer":       "TestServicesThatDoNotWork",
	"worker_failed":        "TestTasksThatFail",
	"claims_used_up":       "TestJobsThatKill",
}

// notRequeued returns the other codes; each stands below the reason why no test requeues a failed
// job of it.
func notRequeued(t testing.TB) (codes []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "not_requeued.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range strings.Split(string(text), "\n\n") {
		why, listed, is := strings.Cut(part, "\n")
		if i == 0 {
			continue
		}
		if !is || !strings.HasPrefix(why, "# ") {
			t.Fatalf("nothing says why no test requeues jobs of %q", part)
		}
		codes = append(codes, strings.Fields(listed)...)
	}
	return codes
}

// checkCodesOfJobs checks that each code that the program gives reasons of jobs is among those of
// the deposits, of containers that TestRequeueOfContainers requeues, or of the lists above; and
// that no list has a code of which that is not so.
func checkCodesOfJobs(t testing.TB, all []*failing) {
	t.Helper()
	said := map[string]int{}
	for _, f := range all {
		said[string(f.code)] = 1
	}
	for _, code := range codesOf(t, "container", "bag") {
		if code != string(container.CodeERC) { // of a citation
			said[code] = 1
		}
	}
	text := testsOf(t)
	for code, test := range elsewhere {
		if said[code]++; !strings.Contains(text, "\nfunc "+test+"(t *testing.T) {") {
			t.Errorf("there is no test %s, of which is said that it requeues a job with the code %s", test, code)
		}
	}
	for _, code := range notRequeued(t) {
		said[code]++
	}
	declared := codesOfJobs(t)
	for code := range declared {
		if said[code] != 1 {
			t.Errorf("%s: %d deposits and lists have this code, want one", code, said[code])
		}
	}
	for code := range said {
		if !declared[code] {
			t.Errorf("%s is a code that the program does not have", code)
		}
	}
}

// testsOf returns the text of the tests of this package.
func testsOf(t testing.TB) (text string) {
	files, err := filepath.Glob("*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no tests: %v", err)
	}
	for _, file := range files {
		one, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text += string(one)
	}
	return text
}

// codesOfJobs returns the codes that the packages declare whose errors and reasons the steps of
// jobs take, and those that the rules themselves give.
func codesOfJobs(t testing.TB) map[string]bool {
	t.Helper()
	declared := map[string]bool{}
	pattern := regexp.MustCompile(`(?m)^(?:const |\t)[Cc]ode\w+ +(?:domain\.)?Code += "(\w+)"`)
	for _, dir := range []string{"domain/reason.go", "domain/bag/*.go", "domain/compute/*.go", "domain/container/*.go", "cmd/internal/app/leases/*.go", "cmd/internal/compute/*.go",
		"cmd/internal/daemon/*.go", "cmd/internal/daemon/*/*.go", "cmd/internal/fetch/*.go", "cmd/internal/mint/*.go", "cmd/internal/mint/service/*.go", "cmd/internal/notify/*.go",
		"cmd/internal/outside/*.go", "cmd/internal/record/*.go", "cmd/internal/stepservice/*.go"} {
		files, err := filepath.Glob(filepath.Join("../../..", dir))
		found := 0
		for _, file := range files {
			text, failed := os.ReadFile(file)
			if failed != nil {
				t.Fatal(failed)
			}
			if dir == "domain/reason.go" { // then come those of files and of refusals
				text, _, _ = bytes.Cut(text, []byte("\n// Codes that the rules of files give"))
			}
			for _, m := range pattern.FindAllSubmatch(text, -1) {
				declared[string(m[1])] = true
				found++
			}
		}
		if err != nil || found == 0 {
			t.Fatalf("%s has no codes: %v", dir, err)
		}
	}
	return declared
}
