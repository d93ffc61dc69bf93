package e2e

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/look"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// TestLookIntoAJob: an operator sees what there is of a job: the manifest that it was made
// from, metadata, working files and nodes; no secret of a URL, and no place of a directory.
// Shows: P14
func TestLookIntoAJob(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "drop_dir="+t.TempDir())
	shop := newShop(t)
	in.serveInProcess()
	in.says(0, words("queue pause processing --reason look"))
	submit := func(payload string, typ domain.SubmissionType, title string) domain.BatchID {
		s, err := in.app.Submit(in.ctx(), app.Deposit{Profile: "test", Submitter: "ana", Payload: shop.signed(payload), Type: typ, Title: title})
		in.must(err)
		return s.Batch
	}
	batch, single := submit("/objects.checkm", domain.TypeBatchManifest, "two letters"), submit("/files.checkm", domain.TypeFileBatchManifest, "files")
	d := in.door()
	inside := func(job string) (v look.Inside) {
		body := d.ask("cy operator/test", "GET", "/v1/jobs/"+job+"/inside", "").into(d, &v).body
		table := in.says(0, words("job look "+job))
		for name, text := range map[string]string{"HTTP": body, "JSON": in.says(0, words("job look -o json "+job)), "table": table} {
			for _, hidden := range []string{secret, in.cfg.WorkDir, filepath.Dir(in.cfg.WorkDir)} {
				if strings.Contains(text, hidden) {
					t.Errorf("%s of %s shows %q:\n%s", name, job, hidden, text)
				}
			}
		}
		return v
	}
	jobIn := func(id domain.BatchID, state domain.JobState) (job string) {
		waitFor(t, "a job of "+string(id)+" to be "+string(state), func() bool {
			list, err := in.app.Jobs(in.ctx(), app.JobFilter{Batch: id, State: state, Limit: 1}, "", "")
			in.must(err)
			if len(list.Items) > 0 {
				job = list.Items[0].ID
			}
			return job != ""
		})
		return job
	}
	job := jobIn(batch, domain.JobProcessing)
	v := inside(job)
	if v.Batch != batch || v.Status != domain.JobProcessing || v.Version < 5 || v.Metadata.Where == secret || len(v.Unknown) > 0 || v.Lock != nil {
		t.Errorf("%+v", v)
	}
	if m := v.Manifest; m == nil || m.Of != "job" || m.Row != nil || m.Cut || !strings.Contains(m.Text, "mrt-ingest-manifest") || !strings.Contains(m.Text, "/a.txt?...\n") {
		t.Errorf("%+v", m)
	}
	if len(v.Files) != 2 || !strings.HasSuffix(v.Files[0].Name, "files/a.txt") || v.Files[0].Size == 0 {
		t.Errorf("%+v", v.Files)
	}
	// Whatever shows a job names its directory from that of the batch on.
	below := string(batch) + "/" + job
	end, err := in.app.LogEnd(in.ctx())
	in.must(err)
	in.shown()
	at := fmt.Sprint(end) // the job is in the log by then
	for _, path := range []string{"/v1/jobs/" + job, "/v1/jobs/" + job + "?at=" + at, "/v1/jobs?batch=" + string(batch), "/v1/batches/" + string(batch), "/v1/batches/" + string(batch) + "/report",
		"/v1/batches/" + string(batch) + "?at=" + at, "/v1/batches/" + string(batch) + "/report?at=" + at, "/v1/events?after=0&to=" + at + "&type=job.created&batch=" + string(batch)} {
		a := d.ask("cy operator/test", "GET", path, "")
		if text := strings.ReplaceAll(a.body, `": "`, `":"`); a.status != 200 || !strings.Contains(text, `"working_dir":"`+below+`"`) || strings.Contains(text, in.cfg.WorkDir) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	for _, line := range []string{"job show -o json " + job, "events ls -o json --type job.created --job " + job} {
		if text := in.says(0, words(line), below); strings.Contains(text, in.cfg.WorkDir) {
			t.Error(text)
		}
	}
	nodes := map[string]string{}
	for _, n := range v.Nodes {
		nodes[n.Name] = n.Data
	}
	if !strings.Contains(nodes["/jobs/"+job+"/status"], `"processing"`) || !strings.Contains(nodes["/jobs/"+job+"/configuration"], `"working_dir":"`+string(batch)+"/"+job+`"`) {
		t.Errorf("%v", nodes)
	}
	if _, queued := nodes["/jobs/states/processing/05-"+job]; !queued {
		t.Errorf("its place in the queue is not shown: %v", nodes)
	}
	// A job without a manifest of its own: that of its batch, and its row.
	of := inside(jobIn(single, domain.JobProcessing))
	if m := of.Manifest; m == nil || m.Of != "batch" || m.Row == nil || *m.Row != 1 || !strings.Contains(m.Text, "mrt-single-file-batch-manifest") {
		t.Errorf("%+v", m)
	}
	// A job that has left the live state.
	in.says(0, words("queue resume processing"))
	in.rest(batch)
	in.says(0, words("batch cleanup --yes "+string(batch)))
	waitFor(t, "the batch to leave the live state", func() bool {
		all, err := in.app.Open.Live(in.ctx())
		in.must(err)
		_, err = all.Job(in.ctx(), domain.JobID(job))
		return errors.Is(err, eventstore.ErrNotFound)
	})
	if v := inside(job); v.Status != domain.JobCompleted || v.Metadata.Identifier == "" || len(v.Nodes) != 0 || len(v.Files) != 0 || v.Manifest == nil {
		t.Errorf("%+v", v)
	}
	for caller, status := range map[string]int{"cy reader/test": 403, "ana depositor/test": 403, "cy operator/rocks": 404, "cy": 404} {
		if a := d.ask(caller, "GET", "/v1/jobs/"+job+"/inside", ""); a.status != status {
			t.Errorf("%s: %d %s", caller, a.status, a.body)
		}
	}
	in.says(4, words("job look jid0000009999"), "no such job")
}
