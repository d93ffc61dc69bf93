package zklive_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

func TestTreeOfEveryRow(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	h, live := w.handler(), w.store
	ctx := t.Context()
	const bid, j1, j2, j3 = domain.BatchID("bid0000000001"), domain.JobID("jid0000000001"), domain.JobID("jid0000000002"), domain.JobID("jid0000000003")
	b, q := "/batches/"+string(bid), "/jobs/states/"

	want := tree{"/batches": "", "/jobs": "", "/jobs/states": "", "/space": ""}
	for _, s := range domain.JobStates {
		want[q+string(s)] = ""
	}
	covered := map[string]bool{}
	check := func(row string) {
		t.Helper()
		covered[row] = true
		got := tree{}
		for _, top := range []string{"/batches", "/jobs", "/space", "/objects"} {
			for path, n := range w.nodes(t, top) {
				if strings.HasPrefix(path, "/objects") && !strings.Contains(path, "-") {
					continue // a directory, which comes and goes with no job
				}
				keys := keysOf(t, path, n.Data)
				if n.Ephemeral {
					keys = "ephemeral " + keys
				}
				got[path] = keys
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%s leaves another tree (-want +got):\n%s", row, d)
		}
	}
	status := func(row string, id domain.JobID, state, last string, retries int) {
		t.Helper()
		nodes := w.nodes(t, "/jobs/"+string(id)+"/status")
		var s struct {
			Status string  `json:"status"`
			Last   *string `json:"last_successful_status"`
			Retry  int     `json:"retry_count"`
		}
		if err := json.Unmarshal([]byte(nodes["/jobs/"+string(id)+"/status"].Data), &s); err != nil {
			t.Fatal(err)
		}
		got := ""
		if s.Last != nil {
			got = *s.Last
		}
		if s.Status != state || got != last || s.Retry != retries {
			t.Fatalf("%s leaves %s as status %q, last_successful_status %q, retry_count %d; want %q, %q, %d",
				row, id, s.Status, got, s.Retry, state, last, retries)
		}
	}
	// Every daemon's row is made under a claim, so that the lock is seen to come
	// and to go.
	claimed := func(id domain.JobID, cmd domain.JobCommand, wantRow string) {
		t.Helper()
		c, _, err := live.ClaimJob(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		want["/jobs/"+string(id)+"/lock"] = "ephemeral holder"
		check("claim")
		delete(want, "/jobs/"+string(id)+"/lock")
		res, err := h.Job(ctx, id, cmd, eventstore.Meta{Actor: "test", Claim: c})
		if err != nil || res.Row != wantRow {
			t.Fatalf("%s: row %q, error %v", wantRow, res.Row, err)
		}
	}
	operator := func(id domain.JobID, cmd domain.JobCommand, wantRow string) {
		t.Helper()
		res, err := h.Job(ctx, id, cmd, eventstore.Meta{Actor: "user/test"})
		if err != nil || res.Row != wantRow {
			t.Fatalf("%s: row %q, error %v", wantRow, res.Row, err)
		}
	}
	batch := func(id domain.BatchID, cmd domain.BatchCommand, wantRow string, lock bool) {
		t.Helper()
		o := eventstore.Meta{Actor: "test"}
		if lock {
			c, _, err := live.ClaimBatch(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			o.Claim = c
			want["/batches/"+string(id)+"/lock"] = "ephemeral holder"
			check("claim")
			delete(want, "/batches/"+string(id)+"/lock")
		}
		res, err := h.Batch(ctx, id, cmd, o)
		if err != nil || res.Row != wantRow {
			t.Fatalf("%s: row %q, error %v", wantRow, res.Row, err)
		}
	}
	hold := func(on bool) {
		t.Helper()
		var set *domain.Hold
		if on {
			set = &domain.Hold{By: "test", Why: "a test"}
		}
		if _, err := h.Hold(ctx, domain.HoldCollection, "maps", set, "a test", eventstore.Meta{Actor: "user/test"}); err != nil {
			t.Fatal(err)
		}
	}
	fail := domain.FailJob{Reason: domain.Reason{Class: domain.ClassSystem, Code: "test", Message: "a test"}}

	// B1, B2, B4
	submission := domain.Submission{ProfileName: "maps", Submitter: "ann", PayloadURL: "http://files.test/m.checkm", Type: domain.TypeBatchManifest, SubmissionMode: "add"}
	batch(bid, domain.SubmitBatch{Submission: submission}, "B1", false)
	want[b], want[b+"/submission"], want[b+"/status"] = "", submissionKeys, batchStatusKeys
	check("B1")
	hold(true)
	batch(bid, domain.HoldBatch{Reason: *domain.Held("maps", domain.Hold{})}, "B2", true)
	want[b+"/status"] = "command error last_modified message status version"
	check("B2")
	hold(false)
	batch(bid, domain.ReleaseBatch{}, "B4", false)
	want[b+"/status"] = batchStatusKeys
	check("B4")

	// batch.listed, J1, B3
	c, _, err := live.ClaimBatch(ctx, bid)
	if err != nil {
		t.Fatal(err)
	}
	first, err := live.ReserveJobIDs(ctx, 3)
	if err != nil || first != j1 {
		t.Fatal(first, err)
	}
	order := eventstore.Meta{Actor: "test", Claim: c, KeepClaim: true}
	if _, err := h.Batch(ctx, bid, domain.ListBatch{Listing: domain.Listing{Rows: 3, FirstJID: first}}, order); err != nil {
		t.Fatal(err)
	}
	want[b+"/progress"], want[b+"/lock"] = "first_jid next_row rows", "ephemeral holder"
	check("batch.listed")
	for row := range 3 {
		cmd := domain.CreateJob{Priority: 5, Configuration: domain.Configuration{BatchID: bid, ProfileName: "maps", Row: row},
			Identifiers: domain.Identifiers{LocalID: []string{"loc"}, ObjectKeys: []domain.ObjectKey{theObject}}}
		if _, err := h.CreateJobs(ctx, first, row, []domain.CreateJob{cmd}, order); err != nil {
			t.Fatal(err)
		}
		if row == 0 {
			for _, s := range []string{"", "/batch-processing", "/batch-failed", "/batch-completed"} {
				want[b+"/states"+s] = ""
			}
		}
		jid := string(first.Plus(row))
		want.job(string(bid), jid, "batch-processing", "pending", "05-"+jid)
		check("J1")
		status("J1", first.Plus(row), "pending", "", 0)
	}
	order.KeepClaim = false
	if res, err := h.Batch(ctx, bid, domain.StartBatch{}, order); err != nil || res.Row != "B3" {
		t.Fatal(res.Row, err)
	}
	delete(want, b+"/lock")
	check("B3")

	// Job 1 goes all the way: J2 J3 J4 J6 J7 J8 J10 J12 J14 J20.
	s1 := "/jobs/" + string(j1) + "/status"
	claimed(j1, domain.HoldJob{Reason: *domain.Held("maps", domain.Hold{})}, "J2")
	want.move(q+"pending/05-"+string(j1), q+"held/05-"+string(j1))
	want[s1] = failedKeys
	check("J2")
	operator(j1, domain.ReleaseJob{}, "J3")
	want.move(q+"held/05-"+string(j1), q+"pending/05-"+string(j1))
	want[s1] = jobStatusKeys
	check("J3")
	claimed(j1, domain.AcceptJob{}, "J4")
	want.move(q+"pending/05-"+string(j1), q+"estimating/05-"+string(j1))
	check("J4")
	status("J4", j1, "estimating", "", 0)
	claimed(j1, domain.EstimateJob{Priority: 10, Bytes: 1_000_000_000}, "J6")
	want.move(q+"estimating/05-"+string(j1), q+"provisioning/10-"+string(j1))
	check("J6")
	status("J6", j1, "provisioning", "estimating", 0)
	for _, step := range []struct {
		cmd            domain.JobCommand
		row, from, to  string
		lastSuccessful string
	}{
		{domain.ProvisionJob{}, "J7", "provisioning", "downloading", "provisioning"},
		{domain.DownloadJob{Priority: 10, Bytes: 1_000_000_000}, "J8", "downloading", "processing", "downloading"},
		{domain.ProcessJob{}, "J10", "processing", "recording", "processing"},
		{domain.RecordJob{}, "J12", "recording", "notify", "recording"},
		{domain.CompleteJob{Callback: "none"}, "J14", "notify", "completed", "notify"},
	} {
		claimed(j1, step.cmd, step.row)
		want.move(q+step.from+"/10-"+string(j1), q+step.to+"/10-"+string(j1))
		if step.row == "J14" {
			want.move(b+"/states/batch-processing/"+string(j1), b+"/states/batch-completed/"+string(j1))
		}
		check(step.row)
		status(step.row, j1, step.to, step.lastSuccessful, 0)
	}
	claimed(j1, domain.CleanJob{}, "J20")
	delete(want, q+"completed/10-"+string(j1))
	want.compact(string(j1))
	check("J20")
	status("J20", j1, "completed", "notify", 0)

	// Job 2 fails at once: J5. Nothing but deletion leaves it.
	toFailed := func(id domain.JobID, from string) {
		want.move(q+from+"/05-"+string(id), q+"failed/05-"+string(id))
		want.move(b+"/states/batch-processing/"+string(id), b+"/states/batch-failed/"+string(id))
		want["/jobs/"+string(id)+"/status"] = failedKeys
	}
	claimed(j2, fail, "J5")
	toFailed(j2, "pending")
	check("J5")
	status("J5", j2, "failed", "", 0)

	// Job 3 fails in every later state and is requeued each time.
	claimed(j3, domain.AcceptJob{}, "J4")
	claimed3 := func(cmd domain.JobCommand, row, from, to string) {
		want.move(q+from+"/05-"+string(j3), q+to+"/05-"+string(j3))
		check(row)
	}
	claimed3(nil, "J4", "pending", "estimating")
	claimed(j3, domain.EstimateJob{Priority: 5}, "J6")
	claimed3(nil, "J6", "estimating", "provisioning")
	claimed(j3, domain.ProvisionJob{}, "J7")
	claimed3(nil, "J7", "provisioning", "downloading")
	last := "provisioning"
	for i, leg := range []struct {
		state, failRow, requeueRow, nextRow, next string
		on                                        domain.JobCommand
	}{
		{"downloading", "J9", "J16", "J8", "processing", domain.DownloadJob{Priority: 5}},
		{"processing", "J11", "J17", "J10", "recording", domain.ProcessJob{}},
		{"recording", "J13", "J18", "J12", "notify", domain.RecordJob{}},
		{"notify", "J15", "J19", "J14", "completed", domain.CompleteJob{}},
	} {
		claimed(j3, fail, leg.failRow)
		toFailed(j3, leg.state)
		check(leg.failRow)
		status(leg.failRow, j3, "failed", last, i)
		operator(j3, domain.RequeueJob{}, leg.requeueRow)
		want.move(q+"failed/05-"+string(j3), q+leg.state+"/05-"+string(j3))
		want.move(b+"/states/batch-failed/"+string(j3), b+"/states/batch-processing/"+string(j3))
		want["/jobs/"+string(j3)+"/status"] = jobStatusKeys
		check(leg.requeueRow)
		status(leg.requeueRow, j3, leg.state, last, i+1)
		claimed(j3, leg.on, leg.nextRow)
		want.move(q+leg.state+"/05-"+string(j3), q+leg.next+"/05-"+string(j3))
		if leg.nextRow == "J14" {
			want.move(b+"/states/batch-processing/"+string(j3), b+"/states/batch-completed/"+string(j3))
		}
		check(leg.nextRow)
		last = leg.state
	}

	// B5, B7, B8, B10, B8 again, and B9 after the failed job was deleted (J21).
	report := domain.FinishReport{Report: domain.NewReport([]domain.JobID{j1, j3}, []domain.JobID{j2}, nil, domain.Time{})}
	reportKeys := "failed failed_jobs last_modified successful successful_jobs"
	batch(bid, domain.BeginReport{}, "B5", false)
	check("B5")
	batch(bid, report, "B7", true)
	want[b+"/status-report"] = reportKeys
	check("B7")
	batch(bid, domain.RequestUpdate{}, "B8", false)
	check("B8")
	prev := report.Report
	report.Report = domain.NewReport([]domain.JobID{j1, j3}, []domain.JobID{j2}, &prev, domain.Time{})
	batch(bid, report, "B10", true)
	want[b+"/status-report"] = reportKeys + " unresolved_jobs"
	check("B10")
	operator(j2, domain.DeleteJob{}, "J21")
	for path := range maps.Clone(want) {
		if strings.HasPrefix(path, "/jobs/"+string(j2)) || strings.HasSuffix(path, string(j2)) {
			delete(want, path)
		}
	}
	check("J21")
	batch(bid, domain.RequestUpdate{}, "B8", false)
	report.Report = domain.NewReport([]domain.JobID{j1, j3}, nil, &prev, domain.Time{})
	batch(bid, report, "B9", true)
	want[b+"/status-report"] = reportKeys
	check("B9")

	// B6, and B3 with a bad manifest: a batch without jobs has its states too.
	batch("bid0000000002", domain.SubmitBatch{Submission: submission}, "B1", false)
	b2 := "/batches/bid0000000002"
	want[b2], want[b2+"/submission"], want[b2+"/status"] = "", submissionKeys, batchStatusKeys
	batch("bid0000000002", domain.StartBatch{Problem: &domain.Reason{Class: domain.ClassContent, Code: domain.CodeManifestInvalid, Message: "no rows"}}, "B3", true)
	want[b2+"/status"] = "command error last_modified message status version"
	for _, s := range []string{"", "/batch-processing", "/batch-failed", "/batch-completed"} {
		want[b2+"/states"+s] = ""
	}
	check("B3")
	batch("bid0000000002", domain.BeginReport{}, "B5", false)
	check("B5")
	batch("bid0000000002", domain.FinishReport{Report: domain.NewReport(nil, nil, nil, domain.Time{})}, "B7", true)
	want[b2+"/status-report"] = reportKeys
	check("B7")

	// B6, with one job.
	const bid3 = domain.BatchID("bid0000000003")
	b3, j4 := "/batches/"+string(bid3), j3.Plus(1)
	batch(bid3, domain.SubmitBatch{Submission: submission}, "B1", false)
	if _, err := live.ReserveJobIDs(ctx, 1); err != nil {
		t.Fatal(err)
	}
	batch(bid3, domain.ListBatch{Listing: domain.Listing{Rows: 1, FirstJID: j4}}, "", false)
	one := domain.CreateJob{Priority: 5, Configuration: domain.Configuration{BatchID: bid3, ProfileName: "maps"}}
	if _, err := h.CreateJobs(ctx, j4, 0, []domain.CreateJob{one}, eventstore.Meta{Actor: "test"}); err != nil {
		t.Fatal(err)
	}
	batch(bid3, domain.StartBatch{}, "B3", false)
	for _, step := range []struct {
		row string
		cmd domain.JobCommand
	}{{"J4", domain.AcceptJob{}}, {"J6", domain.EstimateJob{Priority: 5}}, {"J7", domain.ProvisionJob{}}, {"J8", domain.DownloadJob{Priority: 5}},
		{"J10", domain.ProcessJob{}}, {"J12", domain.RecordJob{}}, {"J14", domain.CompleteJob{}}} {
		operator(j4, step.cmd, step.row)
	}
	want[b3], want[b3+"/submission"], want[b3+"/status"], want[b3+"/progress"] = "", submissionKeys, batchStatusKeys, "first_jid next_row rows"
	for _, s := range []string{"", "/batch-processing", "/batch-failed", "/batch-completed"} {
		want[b3+"/states"+s] = ""
	}
	want.job(string(bid3), string(j4), "batch-completed", "completed", "05-"+string(j4))
	want["/jobs/"+string(j4)+"/identifiers"] = "local_id primary"
	check("J14")
	batch(bid3, domain.BeginReport{}, "B5", false)
	check("B5")
	batch(bid3, domain.FinishReport{Report: domain.NewReport([]domain.JobID{j4}, nil, nil, domain.Time{})}, "B6", true)
	want[b3+"/status-report"] = reportKeys
	check("B6")

	for _, row := range []string{"B1", "B2", "B3", "B4", "B5", "B6", "B7", "B8", "B9", "B10", "J1", "J2", "J3", "J4", "J5", "J6", "J7", "J8",
		"J9", "J10", "J11", "J12", "J13", "J14", "J15", "J16", "J17", "J18", "J19", "J20"} {
		if !covered[row] {
			t.Errorf("row %s was not driven", row)
		}
	}
}
