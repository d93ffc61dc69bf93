package e2e

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
)

// TestManifestDepositedTwice: a manifest that was deposited before is taken again, with a
// warning in the report, its mail and the tables, whether it is a local file, of which the
// answer says so at once, or behind a URL.
// Shows: P19
func TestManifestDepositedTwice(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base := webServer(t, samples.Handler())
	in.serveInProcess()
	for path, kind := range map[string]domain.SubmissionType{samples.BatchManifest: domain.TypeBatchManifest, samples.ObjectManifest: domain.TypeObjectManifest} {
		local := filepath.Join(t.TempDir(), "copy.checkm")
		in.must(os.WriteFile(local, in.body(base+path), 0o600))
		var before domain.BatchID
		for i, payload := range []string{base + path, base + path, local, base + path} {
			s, err := in.app.Submit(in.ctx(), app.Deposit{Profile: "test", Submitter: "tester", Payload: payload, Type: kind})
			in.must(err)
			if want := map[bool]domain.BatchID{true: before}[payload == local]; s.SameAs != want {
				t.Errorf("%s, %d: the answer names %q as the same, want %q", kind, i, s.SameAs, want)
			}
			v := in.rest(s.Batch)
			in.shown()
			if before == "" {
				in.notWarned(s.Batch)
			} else {
				in.repeats(s.Batch, v, kind, before)
			}
			before = s.Batch
		}
	}
}

// TestDepositNamesItsVersion: a deposit that names a stored object, by identifier or by a local id,
// is answered with the version that it is to become; an object of another collection is not named.
// Shows: P19
func TestDepositNamesItsVersion(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.profileOfRocks("")
	url := goodServer(t) + "/a"
	in.serveInProcess()
	deposit := func(d app.Deposit) app.Submitted {
		t.Helper()
		d.Submitter, d.Payload, d.Type = "tester", url, domain.TypeFile
		s, err := in.app.Submit(in.ctx(), d)
		in.must(err)
		return s
	}
	named := app.Deposit{Profile: "test", LocalIDs: []string{"shelf 9"}}
	first := deposit(named)
	object := in.rest(first.Batch).Jobs[0].PrimaryIdentifier
	if first.Object != "" || first.ObjectVersion != 0 {
		t.Errorf("the first deposit is answered with %+v", first)
	}
	for i, d := range []app.Deposit{named, {Profile: "test", Primary: object}, {Profile: "test", Primary: strings.ToUpper(object[:3]) + object[3:]}} {
		s := deposit(d)
		if s.Object != object || s.ObjectVersion != int64(i)+2 {
			t.Errorf("deposit %d is answered with %+v, want version %d of %s", i, s, i+2, object)
		}
		in.rest(s.Batch)
	}
	for _, d := range []app.Deposit{{Profile: "rocks", Primary: object}, {Profile: "rocks", LocalIDs: named.LocalIDs}, {Profile: "test"}} {
		if s := deposit(d); s.Object != "" || s.ObjectVersion != 0 {
			t.Errorf("%+v is answered with %+v", d, s)
		}
	}
	in.says(0, words("submit --profile test --submitter tester --type file --identifier "+object+" "+url), "this is to be version 5 of "+object)
}

// body returns what a server sends.
func (in *installation) body(url string) []byte {
	in.t.Helper()
	req, err := http.NewRequestWithContext(in.t.Context(), http.MethodGet, url, http.NoBody)
	in.must(err)
	answer, err := http.DefaultClient.Do(req)
	in.must(err)
	data, err := io.ReadAll(answer.Body)
	in.must(err)
	in.must(answer.Body.Close())
	return data
}

func (in *installation) notWarned(id domain.BatchID) {
	in.t.Helper()
	if n := in.count("select count(*) from report.manifest_warning where batch_id = $1", id); n != 0 {
		in.t.Errorf("%s has %d warnings", id, n)
	}
}

// repeats checks that the manifest of a batch is said to be that of an earlier one.
func (in *installation) repeats(id domain.BatchID, v app.BatchReportView, kind domain.SubmissionType, before domain.BatchID) {
	in.t.Helper()
	job := ""
	if kind == domain.TypeObjectManifest {
		job = v.Jobs[0].ID
	}
	warning := "the same manifest was deposited before, as " + string(before)
	mails := in.mails(id)
	if !slices.ContainsFunc(mails, func(text string) bool { return strings.Contains(text, warning) }) {
		in.t.Errorf("no mail about %s says %q: %q", id, warning, mails)
	}
	if n := in.count("select count(*) from report.manifest_warning where batch_id = $1 and job_id = $2 and warning = $3", id, job, warning); n != 1 {
		in.t.Errorf("%s has %d warnings %q", id, n, warning)
	}
}
