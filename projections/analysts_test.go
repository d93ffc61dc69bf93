package projections_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// analysts adds two months of deposits: of anna, whose server is slow, and of omar.
func analysts(w *world) {
	w.setting()
	w.setting()
	w.now = time.Date(2026, 3, 30, 9, 0, 0, 0, time.UTC)
	late := domain.Reason{Class: domain.ClassTimeout, Code: domain.CodeDownloadTimeout, Message: "it took longer than 1h", Host: "slow.example.org", Attempt: 1, Worker: "w1"}
	id := domain.NewBatchID(4)
	for i, j := range w.deposited(id, "anna", "slow.example.org", 4) {
		w.downloads(j, fmt.Sprintf("map-%d.tif", i+1), "slow.example.org", 90*time.Second, i == 1)
		if i == 2 {
			w.must(j, domain.FailJob{Reason: late}, domain.RequeueJob{})
		}
		w.completes(j, 40<<20)
	}
	w.mustBatch(id, domain.BeginReport{}, domain.FinishReport{Report: w.report(w.batches[id])})
	w.collection, w.now = "scans", time.Date(2026, 4, 7, 14, 0, 0, 0, time.UTC)
	full := domain.Reason{Class: domain.ClassSystem, Code: "space_short", Message: "the object store is full", Attempt: 1, Worker: "w2"}
	id = domain.NewBatchID(5)
	for i, j := range w.deposited(id, "omar", "files.example.org", 5) {
		w.downloads(j, fmt.Sprintf("scan-%d.tif", i+1), "files.example.org", 4*time.Second, false)
		switch i {
		case 3:
			w.must(j, failing("digest_mismatch"))
		case 4:
			w.must(j, domain.FailJob{Reason: full})
		default:
			w.completes(j, 8<<20)
		}
	}
	w.mustBatch(id, domain.BeginReport{}, domain.FinishReport{Report: w.report(w.batches[id])})
	w.collection = "maps"
}

// deposited submits a batch to the profile of the collection; its jobs are downloading.
func (w *world) deposited(id domain.BatchID, submitter, host string, rows int) []domain.JobID {
	w.t.Helper()
	w.batches[id] = domain.Batch{ID: id}
	first := domain.NewJobID(w.nextJID)
	w.mustBatch(id, domain.SubmitBatch{Submission: domain.Submission{ProfileName: w.collection, Submitter: submitter, Type: domain.TypeFileBatchManifest,
		ErcWhat: "Deposit of " + submitter, SubmissionMode: "add", PayloadURL: "https://" + host + "/list.checkm"}},
		domain.ListBatch{Listing: domain.Listing{Rows: rows, FirstJID: first}})
	for i := range rows {
		w.jobs[first.Plus(i)] = domain.Job{ID: first.Plus(i)}
		w.ofBatch[id] = append(w.ofBatch[id], first.Plus(i))
		w.must(first.Plus(i), domain.CreateJob{Priority: 5, Metadata: domain.Metadata{ErcWhat: fmt.Sprintf("Sheet %d", i+1)}, Configuration: domain.Configuration{
			BatchID: id, ProfileName: w.collection, Submitter: submitter, PayloadURL: fmt.Sprintf("https://%s/%d.tif", host, i+1), PayloadType: domain.TypeFile,
			SubmissionMode: "add", FileName: fmt.Sprintf("%d.tif", i+1), Row: i, Host: host}})
	}
	b := w.batches[id]
	b.NextRow = rows
	w.batches[id] = b
	w.mustBatch(id, domain.StartBatch{})
	for _, j := range w.ofBatch[id] {
		w.must(j, domain.AcceptJob{}, domain.EstimateJob{Files: 1, Bytes: 40 << 20, Priority: 5}, domain.ProvisionJob{})
	}
	return w.ofBatch[id]
}

// downloads makes a job's file known and downloads it, in the second attempt if the
// first one is too slow.
func (w *world) downloads(job domain.JobID, path, host string, took time.Duration, slow bool) {
	w.t.Helper()
	spec := domain.FileSpec{Source: string(job), Path: path, JobID: job, BatchID: w.jobs[job].Configuration.BatchID, URL: "https://" + host + "/" + path,
		Size: 40 << 20, Collection: w.collection, Profile: w.collection, Host: host}
	w.file(spec.Hash(), domain.DiscoverFile{Spec: spec})
	id := spec.Hash()
	if slow {
		w.mustFile(id, start)
		w.now = w.now.Add(time.Hour)
		w.mustFile(id, func(f domain.File) domain.FileCommand {
			return domain.FailDownload{Fence: f.Fence, Limits: twice, Reason: domain.Reason{Class: domain.ClassTimeout, Code: domain.CodeDownloadTimeout,
				Message: "the attempt took longer than 1h0m0s", Host: host}}
		})
	}
	w.mustFile(id, start)
	w.now = w.now.Add(took)
	w.mustFile(id, func(f domain.File) domain.FileCommand {
		return domain.FinishDownload{Fence: f.Fence, Size: 40 << 20, SHA256: strings.Repeat("ab", 32)}
	})
	w.mustFile(id, ready, process, done)
}

// completes stores the object of a downloading job.
func (w *world) completes(job domain.JobID, bytes int64) {
	w.t.Helper()
	o := domain.StoredObject{Primary: fmt.Sprintf("ark:/99999/fk4%04d", job.Number()), Version: 1, ManifestKey: "objects/" + string(job), Files: 3, Bytes: bytes}
	w.must(job, domain.DownloadJob{Files: 1, Bytes: bytes, Priority: 5}, domain.IdentifyJob{Identifiers: domain.Identifiers{Primary: o.Primary}, Minted: true},
		domain.ProcessJob{Object: o}, domain.RecordJob{}, domain.CompleteJob{Callback: "none", Object: &o})
}

// inventory records what the completed jobs have stored.
func (w *world) inventory(db query.Reader) {
	w.t.Helper()
	for _, r := range w.log {
		d, ok := r.Data.(*domain.JobDone)
		if !ok || d.Object == nil {
			continue
		}
		for _, sql := range []string{
			"insert into record.object values ($1, 'the library', $2, 1, '', $3, '', '{}')",
			"insert into record.object_version values ($1, 1, $4, $5, $2, $6, $7, '', $8, $9, $10, $10)"} {
			args := []any{d.Object.Primary, d.Collection, d.Deposit.ErcWhat, r.Aggregate.ID, string(r.BatchID), d.Deposit.Submitter,
				d.Object.ManifestKey, d.Object.Files, d.Object.Bytes, r.Stored}
			if strings.Contains(sql, "$3") {
				args = args[:3]
			} else {
				sql = strings.NewReplacer("$10", "$9", "$9", "$8", "$8", "$7", "$7", "$6", "$6", "$5", "$5", "$4", "$4", "$3").Replace(sql)
				args = append(args[:2:2], args[3:]...)
			}
			if _, err := db.Exec(context.Background(), sql, args...); err != nil {
				w.t.Fatalf("%s: %v", sql, err)
			}
		}
	}
}

// TestStateAtAMoment: the functions tell for every event what its own transition says,
// by sequence and by time, and nothing before the first.
func TestStateAtAMoment(t *testing.T) {
	t.Parallel()
	db, ctx := granted(t), context.Background()
	w := installation(t)
	if err := run(t, config(db, w.log)); err != nil {
		t.Fatal(err)
	}
	reader := as(t, db, "accession_reader")
	for _, r := range w.log {
		if slices.Contains([]domain.Kind{domain.KindSetting, domain.KindQuery, domain.KindEntry}, r.Aggregate.Kind) || r.Aggregate.Kind == domain.KindSlot {
			continue
		}
		call := fmt.Sprintf("select status from report.%s_at($1, $2::%%s)", r.Aggregate.Kind)
		want := stateAfter(r)
		for typ, moment := range map[string]any{"bigint": int64(r.Seq), "timestamptz": r.Stored.Truncate(time.Microsecond)} {
			var got string
			if err := reader.QueryRow(ctx, fmt.Sprintf(call, typ), r.Aggregate.ID, moment).Scan(&got); err != nil {
				t.Fatalf("%s by %s: %v", r.ID(), typ, err)
			}
			if later := lastWithin(w.log, r); typ == "timestamptz" && got != later || typ == "bigint" && got != want {
				t.Errorf("%s by %s: %s, want %s", r.ID(), typ, got, want)
			}
		}
		if r.Version == 1 {
			rows, err := reader.Query(ctx, fmt.Sprintf(call, "bigint"), r.Aggregate.ID, int64(r.Seq)-1)
			if err != nil {
				t.Fatal(err)
			}
			if before, err := pgx.CollectRows(rows, pgx.RowTo[string]); err != nil || len(before) != 0 {
				t.Errorf("before %s: %v, %v", r.ID(), before, err)
			}
		}
	}
	var b string
	err := reader.QueryRow(ctx, `select format('%s %s: %s completed, %s failed, %s in progress', s.status, s.rows_listed, s.jobs_completed, s.jobs_failed, s.jobs_in_progress)
		from report.batch_at('bid0000000002', (select max(seq) from report.event where batch_id = 'bid0000000002')) s`).Scan(&b)
	if err != nil || b != "failed 3: 2 completed, 1 failed, 0 in progress" {
		t.Errorf("%s, %v", b, err)
	}
}

func stateAfter(r domain.Recorded) string {
	if m, ok := domain.MoveOfBatch(r.Data); ok {
		return string(m.To)
	}
	if m, ok := domain.MoveOfJob(r.Data); ok {
		return string(m.To)
	}
	m, _ := domain.MoveOfFile(r.Data)
	return string(m.To)
}

// lastWithin is the state after the last event of the same aggregate that the log took
// in the same moment.
func lastWithin(log []domain.Recorded, r domain.Recorded) string {
	state := stateAfter(r)
	for _, next := range log[r.Seq:] {
		if next.Aggregate == r.Aggregate && next.Stored.Equal(r.Stored) {
			state = stateAfter(next)
		}
	}
	return state
}

// TestDashboard runs the query of every panel as a reader, with the variables as
// Grafana fills them in.
func TestDashboard(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../deploy/grafana/accession-sql.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct {
				RawSQL string `json:"rawSql"`
			}
		}
	}
	if err := json.Unmarshal(data, &board); err != nil || len(board.Panels) < 10 {
		t.Fatalf("%d panels, %v", len(board.Panels), err)
	}
	db := granted(t)
	w := installation(t)
	if err := run(t, config(db, w.log)); err != nil {
		t.Fatal(err)
	}
	w.inventory(db)
	reader := as(t, db, "accession_reader")
	for _, p := range board.Panels {
		if len(p.Targets) != 1 {
			t.Errorf("%s has %d queries", p.Title, len(p.Targets))
			continue
		}
		sql := strings.NewReplacer("$__timeFilter(", "'2026-01-01' < (", "$__timeFrom()", "timestamptz '2026-01-01'", "$__timeTo()", "timestamptz '2026-12-31'").Replace(p.Targets[0].RawSQL)
		_ = output(t, reader, sql)
	}
}

// TestFilesNameTheVersionOfTheirObject: a row of report.file has the version that its job stored,
// and none before.
func TestFilesNameTheVersionOfTheirObject(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	analysts(w)
	db := projected(t, w)
	for sql, want := range map[string]int{
		"select count(*) from report.file where object_version = 1":                                                                                    7,
		"select count(*) from report.file f join report.job j using (job_id) where f.object_version is distinct from j.object_version":                 0,
		"select count(*) from report.file f join report.job j using (job_id) where f.object_version is null and j.status in ('failed', 'downloading')": 2,
	} {
		if got := count(t, db, sql); got != want {
			t.Errorf("%s: %d, want %d", sql, got, want)
		}
	}
}
