package e2e

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// Refusals of more than one command.
var (
	held = no{"collection test is on hold, set by user/test: new terms; release that hold first",
		"`accession collection ls` shows who set the hold and why; `accession collection release` releases it"}
	locked  = no{"job/ID is pending and locked by a worker", "locked by a worker: try again when its step has ended, or pause the queue first; `accession job fail` ends a job in spite of the lock"}
	noBatch = no{"there is no such batch", "`accession batch ls` lists them, also those that were deleted"}
	noJob   = no{"there is no such job", "`accession job ls` lists them; `accession job show ID` shows one that was deleted"}
	nobody  = no{"batch/ID cannot have its report sent again: the profile test has no address to send to",
		"name them in the profile, under notify; `accession report batch --batch ID --format mail --from ADDRESS --to ADDRESS` makes a mail for others"}
	whichJobs = "`accession job ls --batch ID` shows where they are"
)

func refuseBatchesAndJobs(s *scene) {
	base := webServer(s.t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/batch.checkm":
			rows := batchOfFiles(r.Host, "good.txt", "lost.txt", "faulty.txt")
			_, _ = io.WriteString(rw, strings.Replace(rows, "http://"+r.Host+"/faulty", "gopher://"+r.Host+"/faulty", 1))
		case "/good.txt":
			_, _ = io.WriteString(rw, "good")
		default:
			http.Error(rw, "lost", http.StatusNotFound)
		}
	}))
	s.profile("")
	s.serveInProcess(run.RoleRelay, run.RoleProjector)
	batch := func(id domain.BatchID, in string, special expected) {
		s.t.Helper()
		s.answers(domain.KindBatch, string(id), in, special)
	}
	job := func(id domain.JobID, in string, special expected) {
		s.t.Helper()
		s.answers(domain.KindJob, string(id), in, special)
	}
	const priority = "change the priority of"
	good, lost, faulty := firstJob, firstJob.Plus(1), firstJob.Plus(2)

	s.hold()
	id := s.submit(app.Deposit{Payload: base + "/batch.checkm", Type: domain.TypeFileBatchManifest})
	batch(id, "pending", nil)
	s.told(3, words("batch release "+string(id)), "accession: release ID: batch/ID is pending: release is not possible (possible from here: held, processing)\n"+
		"hint: its jobs are being made: `accession batch show ID` shows how far it is; `accession collection hold` holds its jobs\n", string(id))
	s.told(4, words("job hold "+string(good)), "accession: hold ID: there is no such job\n"+
		"hint: `accession job ls` lists them; `accession job show ID` shows one that was deleted\n", string(good))
	s.told(2, words("job delete "+string(good)+" --yes"), "accession: delete ID: a deletion needs a reason\nhint: say why with --reason; it stays in the history\n", string(good))
	s.works("batch-pending", 1, domain.EventBatchHeld)
	batch(id, "held", expected{"release": no{"batch/ID cannot release: " + held.text, held.hint}, "delete": row("B12")})
	s.open()
	batch(id, "held", expected{"release": row("B4"), "delete": row("B12")})
	if _, err := s.app.ReleaseBatch(s.ctx(), id, ""); err != nil {
		s.t.Fatal(err)
	}
	s.works("batch-pending", 1, domain.EventBatchStarted)
	batch(id, "processing", nil)

	job(good, "pending", expected{"hold": row("J2"), priority: row("")})
	_, err := s.app.Reprioritise(s.ctx(), good, 100, "")
	s.refused("change the priority of "+string(good), string(good), no{"job/ID cannot reprioritise: a priority is 0 to 99, and lower runs first", ""}, err)
	s.claimed(good, func() { job(good, "pending", expected{"hold": row("J2"), priority: locked}) })
	if _, err := s.app.HoldJob(s.ctx(), good, "rights"); err != nil {
		s.t.Fatal(err)
	}
	s.hold()
	job(good, "held", expected{"release": no{"job/ID cannot release: " + held.text, held.hint}, "delete": row("J22"), priority: row("")})
	s.open()
	job(good, "held", expected{"release": row("J3"), "delete": row("J22"), priority: row("")})
	deletes := func(id domain.JobID) func(context.Context, *app.App) (app.Changed, error) {
		return func(ctx context.Context, a *app.App) (app.Changed, error) { return a.DeleteJob(ctx, id, "sent twice") }
	}
	unfinished := string(id) + " is not finished: its report will count this job as deleted and will not name "
	s.effect(deletes(good), unfinished+"good.txt (row 1), which was held")
	if _, err := s.app.ReleaseJob(s.ctx(), good, ""); err != nil {
		s.t.Fatal(err)
	}
	s.works("job-pending", 3, domain.EventJobAccepted, domain.EventJobFailed)
	job(good, "estimating", expected{priority: row("")})
	never := no{"job/ID cannot requeue: its payload is faulty; delete it and submit it again", "`accession job delete ID` deletes it"}
	job(faulty, "failed", expected{"requeue": never, "delete": row("J21"), priority: row("")})
	s.works("job-estimating", 2, domain.EventJobEstimated)
	job(good, "provisioning", expected{priority: row("")})
	s.works("job-provisioning", 2, domain.EventJobProvisioned)
	job(good, "downloading", expected{priority: row("")})
	s.works("job-downloading", 3, domain.EventJobDownloaded, domain.EventJobFailed)
	job(good, "processing", expected{priority: row("")})
	job(lost, "failed", expected{"requeue": row("J16"), "delete": row("J21"), priority: row("")})
	s.effect(deletes(lost), unfinished+"lost.txt (row 2), which failed with http_status: lost.txt: "+base+"/lost.txt: the server answered 404 Not Found; correct the URL, or put the file there")
	s.works("job-processing", 1, domain.EventJobProcessed)
	job(good, "recording", expected{priority: row("")})
	s.works("job-recording", 1, domain.EventJobRecorded)
	job(good, "notify", expected{priority: row("")})
	s.works("job-notify", 1, domain.EventBatchReporting)
	job(good, "completed", expected{priority: row("")})
	batch(id, "reporting", nil)
	soon := "wait until the batch is reported; `accession job show ID` names it"
	job(lost, "failed", expected{priority: row(""),
		"requeue": no{"job/ID cannot requeue: its batch is reporting; a job is requeued while its batch is processing or failed", soon},
		"delete":  no{"job/ID cannot delete: its batch is reporting; a job is deleted while its batch is processing or failed", soon}})
	s.works("batch-reporting", 1, domain.EventBatchFailed)
	batch(id, "failed", expected{send: nobody, "update-report": row("B8"), "delete": row("B11")})
	s.effect(deletes(lost), "the report of "+string(id)+" already named it to the depositor; an update report counts it as deleted and no longer names lost.txt (row 2), "+
		"which failed with http_status: lost.txt: "+base+"/lost.txt: the server answered 404 Not Found; correct the URL, or put the file there")

	if _, err := s.app.Requeue(s.ctx(), lost, "look again"); err != nil {
		s.t.Fatal(err)
	}
	early := no{"batch/ID cannot update-report: jobs of the batch are still being processed; wait until they end", whichJobs}
	batch(id, "failed", expected{send: nobody, "update-report": early, "delete": row("B11")})
	s.claimed(lost, func() {
		batch(id, "failed", expected{send: nobody, "update-report": early,
			"delete": no{"batch/ID cannot delete: 1 of its jobs are being worked on, among them " + string(lost) + "; wait until they have ended", whichJobs}})
	})
	s.works("job-downloading", 3, domain.EventJobFailed)
	if _, err := s.app.RequestUpdate(s.ctx(), id, ""); err != nil {
		s.t.Fatal(err)
	}
	batch(id, "update-reporting", nil)
	s.works("batch-update-reporting", 2, domain.EventBatchFailed)
	s.works("janitor", 1, domain.EventJobCleaned)
	job(good, "completed", nil)
	if _, err := s.app.DeleteJob(s.ctx(), faulty, "sent twice"); err != nil {
		s.t.Fatal(err)
	}
	gone := func(answer no, of domain.Kind) expected {
		all := expected{}
		for _, q := range askings[of] {
			all[q.what] = answer
		}
		return all
	}
	job(faulty, "deleted", gone(noJob, domain.KindJob))

	stop := s.serveInProcess(run.RoleDaemons).stop
	done := s.submit(app.Deposit{Payload: base + "/good.txt"})
	s.installation.seen(1, domain.EventBatchCompleted)
	s.installation.seen(2, domain.EventJobCleaned)
	stop()
	batch(done, "completed", expected{send: nobody, "clean up": row("B13"), "delete": no{"batch/ID cannot delete: a completed batch is cleaned up, not deleted", stated[domain.KindBatch]["completed"].hint}})
	s.cut(done)
	batch(done, "deleted", expected{"delete": row(""), "clean up": row("")})
	if _, err := s.app.CleanBatch(s.ctx(), done, ""); err != nil {
		s.t.Fatal(err)
	}
	cleaned := gone(noBatch, domain.KindBatch)
	cleaned[send] = no{noBatch.text, "one that was cleaned up is in the tables: `accession report batch --batch ID --format mail` makes a mail of them"}
	batch(done, "deleted", cleaned)
}

// told runs a command line, which must end with the code and write exactly this as
// its error.
func (s *scene) told(code int, args []string, text, id string) {
	s.t.Helper()
	got, out, errs := s.call(args...)
	if want := strings.ReplaceAll(text, "ID", id); got != code || out != "" || errs != want {
		s.t.Errorf("accession %s: exit code %d, %q and the error\n%s, want %d and\n%s", strings.Join(args, " "), got, out, errs, code, want)
	}
}

func refuseFiles(s *scene) {
	s.serveInProcess(run.RoleRelay, run.RoleProjector)
	limits := domain.Limits{Max: 2}
	digest := strings.Repeat("0", 64)
	why := domain.Reason{Class: domain.ClassSystem, Code: "test", Message: "a test"}
	start := func() domain.FileCommand { return domain.StartDownload{Worker: "w", Limits: limits} }
	l := s.discover("a.nc")
	in := func(state domain.FileState, special expected) {
		s.t.Helper()
		s.answers(domain.KindFile, string(l.hash), string(state), special)
	}
	none := no{"there is no such file", "`accession job show` lists the files of a job"}
	_, err := s.app.RequeueFile(s.ctx(), domain.FileHash(strings.Repeat("0", 64)), "")
	s.refused("requeue "+strings.Repeat("0", 64), "", none, err)
	in(domain.FileDiscovered, nil)
	f := l.do(start())
	in(domain.FileDownloading, nil)
	l.do(domain.FailDownload{Fence: f.Fence, Reason: why, Limits: limits})
	in(domain.FileDownloadingFailed, nil)
	f = l.do(start())
	l.do(domain.FailDownload{Fence: f.Fence, Reason: why, Limits: limits})
	in(domain.FileIgnore, expected{"requeue": row("O1")})
	l.do(domain.ReopenFile{Reason: why})
	l.do(domain.FileAlreadyThere{Size: 1, SHA256: digest})
	in(domain.FileDownloaded, expected{"skip": row("F9")})
	l.do(domain.SkipFile{Reason: why})
	in(domain.FileSkipped, expected{"requeue": row("O3")})
	l.do(domain.ReopenFile{Reason: why})
	l.do(domain.ReadyFile{})
	in(domain.FileReady, nil)
	f = l.do(domain.StartProcessing{Worker: "w"})
	in(domain.FileProcessing, nil)
	l.do(domain.FinishProcessing{Fence: f.Fence})
	in(domain.FileProcessed, nil)
	l.do(domain.AuditFailed{Reason: why, Limits: limits})
	in(domain.FileProcessingFailed, nil)
	l.do(domain.RetryProcessing{Limits: limits})
	f = l.do(domain.StartProcessing{Worker: "w"})
	l.do(domain.FailProcessing{Fence: f.Fence, Reason: why, Limits: limits})
	in(domain.FileAbandoned, expected{"requeue": row("O2")})
}

// refuseTheRest: what is wrong in itself, and holds and pauses.
func refuseTheRest(s *scene) {
	s.serveInProcess(run.RoleRelay, run.RoleProjector)
	url := "http://files.test/a.txt"
	submit := func(change func(*app.Deposit)) func() error {
		d := app.Deposit{Profile: "test", Submitter: "tester", Payload: url}
		change(&d)
		return func() error { _, err := s.app.Submit(s.ctx(), d); return err }
	}
	dir := s.t.TempDir()
	named := filepath.Join(dir, "letter.checkm")
	if err := os.WriteFile(named, []byte("Dear all,\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	hash := domain.HashFile("a", "b")
	a, ctx := s.app, s.ctx()
	set := func(_ app.Changed, err error) {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
	}
	set(a.HoldCollection(ctx, "test", ""))
	set(a.PauseQueue(ctx, "pending", ""))
	tree, end := s.dump(), s.logEnd()
	path := "give the path of a file, or a URL that starts with http:// or https://"
	const who, what = " shows who set it and why", " shows what is set"
	const collections, queues = "`accession collection ls`", "`accession queue ls`"
	for _, c := range []struct {
		what string
		do   func() error
		want no
	}{
		{"submit", submit(func(d *app.Deposit) { d.Profile = "maps" }), no{`no profile is named "maps"; known are: test`, "`accession profile ls` lists the profiles there are; each is a file in profiles_dir"}},
		{"submit", submit(func(d *app.Deposit) { d.Profile = "" }), no{"no profile is given", "name the collection's profile with --profile; `accession profile ls` lists them"}},
		{"submit", submit(func(d *app.Deposit) { d.Submitter = "" }), no{"no submitter is given", ""}},
		{"submit", submit(func(d *app.Deposit) { d.Payload = "" }), no{"no payload is given", ""}},
		{"submit", submit(func(d *app.Deposit) { d.Payload = filepath.Join(dir, "no") }), no{"open " + filepath.Join(dir, "no") + ": no such file or directory", path}},
		{"submit", submit(func(d *app.Deposit) { d.Payload, d.Type = dir, "file" }), no{dir + " is not a file", "give one file; a manifest can list many"}},
		{"submit", submit(func(d *app.Deposit) { d.Payload = named }), no{named + " is named as a manifest and does not begin as one, with #%checkm", "correct it, or say with --type file that it is to be stored as it is"}},
		{"submit", submit(func(d *app.Deposit) { d.Type = "odd" }), no{`type "odd" is not one of file, container, object_manifest, batch_manifest, container_batch_manifest, file_batch_manifest, metadata`, ""}},
		{"submit", submit(func(d *app.Deposit) { d.Mode = "sideways" }), no{`mode "sideways" is neither add nor update`, ""}},
		{"submit", submit(func(d *app.Deposit) { d.Mode = "update" }), no{"an update must name its object",
			"give its identifier with --identifier, or the depositor's own name with --local-id"}},
		{"submit", submit(func(d *app.Deposit) { d.Digest = "md5" }), no{"digest: write ALGORITHM:HEX, such as sha256:9f86d0…", ""}},
		{"hold collection maps", func() error { _, err := a.HoldCollection(ctx, "maps", ""); return err }, no{`no profile describes the collection "maps"`, "there is test"}},
		{"hold collection a/b", func() error { _, err := a.HoldCollection(ctx, "a/b", ""); return err }, no{"the name of a hold may hold printable ASCII without space, slash and colon only", ""}},
		{"hold collection test", func() error { _, err := a.HoldCollection(ctx, "test", ""); return err }, no{"collection test is already on hold", collections + who}},
		{"release collection maps", func() error { _, err := a.ReleaseCollection(ctx, "maps", ""); return err }, no{"collection maps is not on hold", collections + what}},
		{"pause queue held", func() error { _, err := a.PauseQueue(ctx, "held", ""); return err }, no{"a pause names ingest or a state that a daemon works in, not held", ""}},
		{"pause queue pending", func() error { _, err := a.PauseQueue(ctx, "pending", ""); return err }, no{"queue pending is already paused", queues + who}},
		{"resume queue ingest", func() error { _, err := a.ResumeQueue(ctx, "ingest", ""); return err }, no{"queue ingest is not paused", queues + what}},
		{"delete bid0000000001", func() error { _, err := a.DeleteBatch(ctx, "bid0000000001", " "); return err }, no{"a deletion needs a reason", "say why with --reason; it stays in the history"}},
		{"delete jid0000000001", func() error { _, err := a.DeleteJob(ctx, "jid0000000001", ""); return err }, no{"a deletion needs a reason", "say why with --reason; it stays in the history"}},
		{"skip " + string(hash), func() error { _, err := a.SkipFile(ctx, hash, ""); return err }, no{"leaving a file out needs a reason", "say why with --reason; it stays in the history"}},
	} {
		s.refused(c.what, "ID", c.want, c.do())
	}
	s.look("what was refused")
	if len(tree) == 0 || s.logEnd() != end {
		s.t.Error("what was refused is in the log")
	}
}
