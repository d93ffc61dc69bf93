package e2e

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/apiclient"
)

// TestGeneratedClient: a client that a generator has made from the description of the API
// deposits, watches, reads the report and gets the files of what was stored.
// Shows: P1
func TestGeneratedClient(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0", "transfer_interval=50ms")
	ana := in.keyOf("ana", "depositor", "--collection", "test")
	d, ctx := in.doorOf(in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...)), in.ctx()

	described, err := os.ReadFile("../../../docs/openapi-3.0.yaml")
	in.must(err)
	want := strings.Replace(string(described), "version: \"1\"", "version: test", 1)
	if a := d.ask("", "GET", "/v1/openapi-3.0.yaml", ""); a.status != http.StatusOK || a.body != want {
		t.Errorf("%d: the service does not serve docs/openapi-3.0.yaml, of which the client was made", a.status)
	}

	c, err := apiclient.NewClientWithResponses(d.url, apiclient.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+ana)
		return nil
	}))
	in.must(err)
	self, err := c.SelfShowWithResponse(ctx)
	in.must(err)
	if self.JSON200 == nil || self.JSON200.Name != "ana" {
		t.Fatalf("%s", self.Body)
	}

	// A deposit, requested twice under one key.
	kind, key, good := string(domain.TypeBatchManifest), "once", goodServer(t)
	var deposit apiclient.SubmissionCreateResponse
	for n := range 2 {
		r, err := c.SubmissionCreateWithResponse(ctx, &apiclient.SubmissionCreateParams{IdempotencyKey: &key},
			apiclient.SubmissionBody{Profile: "test", Type: &kind, Url: good + "/batch.checkm"})
		in.must(err)
		if r.JSON202 == nil || r.Headers202 == nil || *r.Headers202.Location != "/v1/batches/"+r.JSON202.Id || (r.JSON202.Again != nil) != (n == 1) {
			t.Fatalf("%s %s", r.Status(), r.Body)
		}
		deposit = *r
	}
	batch := deposit.JSON202.Id

	// Its events, until it has ended, and then what the tables have.
	from := "0"
	events, err := c.EventFollow(ctx, &apiclient.EventFollowParams{After: &from, Batch: &batch})
	in.must(err)
	defer events.Body.Close()
	last := ""
	for lines := bufio.NewScanner(events.Body); last != "batch.completed" && lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			last = name
		}
	}
	if last != "batch.completed" {
		t.Fatalf("the stream ended after %q: %s", last, events.Status)
	}
	var report *apiclient.BatchReportView
	waitFor(t, "the report", func() bool {
		r, err := c.BatchReportWithResponse(ctx, batch, nil)
		in.must(err)
		if report = r.JSON200; report == nil {
			t.Fatalf("%s %s", r.Status(), r.Body)
		}
		return report.Status == "completed" && report.ReportsMade != nil && len(*report.ReportsMade) == 1
	})
	if report.JobsTotal == 0 || report.JobsCompleted != report.JobsTotal || len(*report.Jobs) != int(report.JobsTotal) {
		t.Errorf("%+v", report)
	}
	shown, err := c.BatchShowWithResponse(ctx, batch, nil)
	in.must(err)
	if shown.JSON200 == nil || shown.JSON200.JobsCompleted != report.JobsTotal || shown.Headers200.ETag == nil {
		t.Errorf("%s %s", shown.Status(), shown.Body)
	}
	state := string(domain.JobCompleted)
	jobs, err := c.JobLsWithResponse(ctx, &apiclient.JobLsParams{Batch: &batch, State: &state})
	in.must(err)
	if jobs.JSON200 == nil || len(*jobs.JSON200.Items) != int(report.JobsTotal) {
		t.Fatalf("%s %s", jobs.Status(), jobs.Body)
	}

	// The object of each job, each file of it, whole and in part.
	read := 0
	for _, item := range *jobs.JSON200.Items {
		job, err := c.JobShowWithResponse(ctx, item.Id, nil)
		in.must(err)
		id := job.JSON200.PrimaryIdentifier
		object, err := c.ObjectShowWithResponse(ctx, id)
		in.must(err)
		if object.JSON200 == nil || object.JSON200.Id != id || len(*object.JSON200.Versions) != 1 {
			t.Fatalf("%s: %s %s", id, object.Status(), object.Body)
		}
		files, err := c.ObjectFilesWithResponse(ctx, id, 0, nil)
		in.must(err)
		for _, f := range *files.JSON200.Items {
			kind := apiclient.ObjectGetParamsKind(f.Kind)
			whole, err := c.ObjectGetWithResponse(ctx, id, 0, f.Name, &apiclient.ObjectGetParams{Kind: &kind})
			in.must(err)
			if whole.StatusCode() != http.StatusOK || fmt.Sprintf("%x", sha256.Sum256(whole.Body)) != f.Sha256 {
				t.Errorf("%s of %s: %s, %d bytes", f.Name, id, whole.Status(), len(whole.Body))
			}
			first := "bytes=0-0"
			part, err := c.ObjectGetWithResponse(ctx, id, 0, f.Name, &apiclient.ObjectGetParams{Kind: &kind, Range: &first})
			in.must(err)
			if part.StatusCode() != http.StatusPartialContent || len(part.Body) != 1 {
				t.Errorf("%s of %s: %s, %d bytes", f.Name, id, part.Status(), len(part.Body))
			}
			read++
		}
	}
	if read <= int(report.JobsTotal) {
		t.Errorf("%d files of %d objects", read, report.JobsTotal)
	}
	found, err := c.ObjectLsWithResponse(ctx, &apiclient.ObjectLsParams{})
	in.must(err)
	if found.JSON200 == nil || len(*found.JSON200.Items) != int(report.JobsTotal) {
		t.Errorf("%s %s", found.Status(), found.Body)
	}

	// A file, and a problem.
	sent, err := c.UploadCreateWithBodyWithResponse(ctx, &apiclient.UploadCreateParams{Profile: "test", Name: "letter.txt"}, "application/octet-stream", io.MultiReader(strings.NewReader("a letter")))
	in.must(err)
	if sent.JSON202 == nil {
		t.Fatalf("%s %s", sent.Status(), sent.Body)
	}
	waitFor(t, "the file to be transferred", func() bool {
		r, err := c.UploadShowWithResponse(ctx, sent.JSON202.Id, nil)
		in.must(err)
		return r.JSON200 != nil && r.JSON200.State == "transferred"
	})
	none, err := c.BatchShowWithResponse(ctx, "bid9999999999", nil)
	in.must(err)
	if p := none.ApplicationproblemJSON404; p == nil || p.Code != string(app.NotFound) {
		t.Errorf("%s %s", none.Status(), none.Body)
	}
}
