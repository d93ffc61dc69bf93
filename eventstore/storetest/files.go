package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
)

// RunFiles tests files.Handler over fresh, empty logs.
func RunFiles(t *testing.T, open func(t *testing.T) eventstore.Log) {
	for name, test := range fileTests {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(newFileKit(t, open(t))) })
	}
}

var fileTests = map[string]func(k fileKit){
	"rows":               testFileRows,
	"times":              testFileTimes,
	"last attempt":       testFileLastAttempt,
	"late worker":        testFileLateWorker,
	"outdated":           testFileOutdated,
	"duplicates":         testFileDuplicates,
	"many":               testFileMany,
	"each for itself":    testFileEach,
	"command id":         testFileCommandID,
	"lost messages":      testFileLost,
	"racing discoveries": testFileRace,
	"racing sweepers":    testFileSweepers,
}

// testFileRows takes every row of the table, and compares what the handler
// answers with the log.
func testFileRows(k fileKit) {
	why := Broken()
	hash := FileSpec(1).Hash()
	var rows []string
	do := func(cmd domain.FileCommand) domain.File {
		k.Helper()
		r := k.do(hash, cmd)
		rows = append(rows, r.Rows...)
		last := k.last(hash)
		if last.Seq != r.Seq || last.Version != r.File.Version || last.CommandID != r.File.CommandID || len(r.Events) != len(r.Rows) ||
			r.Events[len(r.Events)-1].Seq != r.Seq {
			k.Fatalf("%T: answered %+v, the log has %+v", cmd, r, last)
		}
		return r.File
	}
	fence := func() int64 { return k.load(hash).Fence }

	do(domain.DiscoverFile{Spec: FileSpec(1)})
	do(domain.StartDownload{Worker: "w", Limits: thrice})
	do(domain.FailDownload{Fence: fence(), Reason: why, Limits: thrice})
	do(domain.StartDownload{Worker: "w", Limits: thrice})
	do(domain.FinishDownload{Fence: fence(), Size: 21, SHA256: digest})
	do(domain.FailValidation{Reason: why, Limits: thrice})
	do(domain.StartDownload{Worker: "w", Limits: thrice})
	do(domain.FailDownload{Fence: fence(), Reason: why, Limits: thrice})
	do(domain.ReopenFile{Reason: why})
	do(domain.FileAlreadyThere{Size: 22, SHA256: digest})
	do(domain.SkipFile{Reason: why})
	do(domain.ReopenFile{Reason: why})
	do(domain.ReadyFile{})
	do(domain.StartProcessing{Worker: "w"})
	do(domain.FailProcessing{Fence: fence(), Reason: why, Limits: thrice})
	do(domain.RetryProcessing{Limits: thrice})
	do(domain.StartProcessing{Worker: "w"})
	do(domain.FinishProcessing{Fence: fence(), Output: &domain.FileOutput{Key: "k", SHA256: digest, Size: 3}})
	do(domain.AuditFailed{Reason: why, Limits: once})
	f := do(domain.ReopenFile{Reason: why})
	for _, t := range domain.FileTransitions {
		if !slices.Contains(rows, t.Row) {
			k.Errorf("%s was not taken", t.Row)
		}
	}
	history := k.histories()[hash]
	if len(history) != len(rows) || history[0].BatchID != domain.NewBatchID(1) || history[5].BatchID != domain.NewBatchID(1) || history[5].Epoch != 1 {
		k.Errorf("%d events for %d rows; the sixth is %+v", len(history), len(rows), history[5])
	}
	if got := k.load(hash); got.State != domain.FileReady || got.Version != f.Version || got.Size != 22 || got.Spec != FileSpec(1) {
		k.Errorf("the log says %+v", got)
	}
}

func (k fileKit) last(hash domain.FileHash) eventstore.LastEvent {
	k.Helper()
	l, err := k.log.Last(k.Context(), hash.Aggregate())
	if err != nil {
		k.Fatal(err)
	}
	return l
}

// testFileTimes: attempts begin and fail at the log's times, and delays and
// timeouts are measured from there, also by a handler that wrote the events
// itself and has not seen them in the log.
func testFileTimes(k fileKit) {
	hash := k.discover(1)[0]
	patient := domain.Limits{Max: 2, Timeout: time.Hour, Delay: time.Hour}
	quick := domain.Limits{Max: 2, Timeout: time.Millisecond, Delay: time.Millisecond}
	started := k.do(hash, domain.StartDownload{Worker: "w", Limits: quick})
	now := k.after(time.Millisecond)
	_, err := k.h.File(k.Context(), hash, domain.RecoverFile{Now: now, Limits: both(patient)}, fileOrder())
	k.refused(err, domain.CodeNotOverdue)
	f := k.load(hash)
	if at := k.read(eventstore.ReadOptions{From: started.Seq, To: started.Seq})[0].Stored; f.DownloadStarted != domain.At(at) || now.Before(at) {
		k.Errorf("the attempt began at %s, stored %s, now %s", f.DownloadStarted, at, now)
	}
	if r := k.do(hash, domain.RecoverFile{Now: now, Limits: both(quick)}); fmt.Sprint(r.Rows) != "[F5]" || r.File.Reason.Code != domain.CodeDownloadTimeout {
		k.Errorf("overdue: %v, %+v", r.Rows, r.File.Reason)
	}
	_, err = k.h.File(k.Context(), hash, domain.StartDownload{Worker: "w", Limits: patient, Now: k.after(0)}, fileOrder())
	k.refused(err, domain.CodeRetryDelayed)
	k.do(hash, domain.StartDownload{Worker: "w", Limits: quick, Now: k.after(2 * time.Millisecond)})
	if f := k.load(hash); !f.DownloadStarted.After(f.Failed.Time) || f.DownloadAttempts != 2 {
		k.Errorf("retried at %s after the failure at %s", f.DownloadStarted, f.Failed)
	}
}

// testFileLastAttempt: both steps stand in the log together, by one command.
func testFileLastAttempt(k fileKit) {
	hash := k.discover(1)[0]
	f := k.do(hash, domain.StartDownload{Worker: "w-1", Limits: once}).File
	r := k.do(hash, domain.FailDownload{Fence: f.Fence, Reason: domain.WorkerLost("w-1"), Limits: once})
	if fmt.Sprint(r.Rows) != "[F5 F7]" || r.File.State != domain.FileIgnore {
		k.Fatalf("%v, %s", r.Rows, r.File.State)
	}
	events := k.histories()[hash]
	a, b := events[2], events[3]
	if b.Seq != a.Seq+1 || a.CommandID != b.CommandID || a.Seq != r.Events[0].Seq || b.Seq != r.Seq || a.Type != domain.EventFileDownloadFailed || b.Type != domain.EventFileIgnored {
		k.Errorf("%s at %d and %s at %d", a.Type, a.Seq, b.Type, b.Seq)
	}
}

// testFileLateWorker: whose attempt was ended by somebody else is refused,
// whatever it still believes.
// Shows: P5
func testFileLateWorker(k fileKit) {
	hash := k.discover(1)[0]
	late := k.do(hash, domain.StartDownload{Worker: "slow", Limits: thrice}).File
	sweeper := fileKit{k.logKit, NewFileHandler(k.log)}
	sweeper.do(hash, domain.FailDownload{Fence: late.Fence, Reason: domain.WorkerLost("slow"), Limits: thrice})
	finish := domain.FinishDownload{Fence: late.Fence, Size: 20, SHA256: digest}
	_, err := k.h.File(k.Context(), hash, finish, fileOrder())
	k.refused(err, domain.CodeIllegal)
	sweeper.do(hash, domain.StartDownload{Worker: "other", Limits: thrice})
	_, err = k.h.File(k.Context(), hash, finish, fileOrder())
	k.refused(err, domain.CodeFenced)
	if f := k.load(hash); f.State != domain.FileDownloading || f.Worker != "other" {
		k.Errorf("it is %s by %s", f.State, f.Worker)
	}
}

// testFileOutdated: what a handler remembers never decides alone.
func testFileOutdated(k fileKit) {
	hash := k.discover(1)[0]
	other := fileKit{k.logKit, NewFileHandler(k.log)}
	f := other.do(hash, domain.StartDownload{Worker: "other", Limits: thrice}).File
	// Refused by what is remembered, and legal in truth.
	k.do(hash, domain.FinishDownload{Fence: f.Fence, Size: 20, SHA256: digest})
	k.do(hash, domain.ReadyFile{})
	// Legal by what is remembered, and refused in truth.
	_, err := other.h.File(k.Context(), hash, domain.SkipFile{Reason: Broken()}, fileOrder())
	k.refused(err, domain.CodeIllegal)
	stranger := FileSpec(2).Hash()
	_, err = k.h.File(k.Context(), stranger, domain.ReadyFile{}, fileOrder())
	k.refused(err, domain.CodeIllegal)
	if _, err := k.h.Load(k.Context(), stranger); !errors.Is(err, eventstore.ErrNotFound) {
		k.Errorf("a stranger gives %v", err)
	}
	fresh := NewFileHandler(k.log)
	for _, h := range []*files.Handler{fresh, fresh, k.h} {
		files, err := h.Files(k.Context(), []domain.FileHash{hash, stranger})
		if err != nil || len(files) != 1 || files[hash].State != domain.FileReady {
			k.Errorf("%d files, %+v, %v", len(files), files[hash], err)
		}
	}
}

// testFileDuplicates: what is known is counted and not written again, alone, in
// one call and among new ones, and the file is not touched.
func testFileDuplicates(k fileKit) {
	k.discover(20)
	k.do(FileSpec(3).Hash(), domain.StartDownload{Worker: "w", Limits: thrice})
	later := fileKit{k.logKit, NewFileHandler(k.log)}
	again := append(discoveries(30), domain.DiscoverFile{Spec: FileSpec(30)}, domain.DiscoverFile{Spec: FileSpec(1)})
	if fresh, err := later.h.DiscoverAll(k.Context(), again, fileOrder()); err != nil || fresh != 10 || later.h.Duplicates() != 22 {
		k.Errorf("%d fresh, %d duplicates, %v", fresh, later.h.Duplicates(), err)
	}
	if r := later.do(FileSpec(3).Hash(), domain.DiscoverFile{Spec: FileSpec(3)}); !r.Duplicate || len(r.Events) > 0 || later.h.Duplicates() != 23 {
		k.Errorf("%+v, %d duplicates", r, later.h.Duplicates())
	}
	if events := k.read(eventstore.ReadOptions{}); len(events) != 31 {
		k.Errorf("%d events, want 31", len(events))
	}
	if k.h.Duplicates() != 0 {
		k.Errorf("%d duplicates where there were none", k.h.Duplicates())
	}
}

// testFileMany: more files than go into one write, with more than one event each.
func testFileMany(k fileKit) {
	const n = 1400
	hashes := k.discover(n)
	ask := func(cmd func(i int) domain.FileCommand) (results []files.Result) {
		k.Helper()
		asks := make([]files.Request, n)
		for i, h := range hashes {
			asks[i] = files.Request{Hash: h, Command: cmd(i)}
		}
		results, err := k.h.All(k.Context(), asks, fileOrder())
		if err != nil {
			k.Fatal(err)
		}
		for i, r := range results {
			if r.Err != nil || r.File.Hash != hashes[i] {
				k.Fatalf("file %d: %s, %v", i, r.File.Hash, r.Err)
			}
		}
		return results
	}
	started := ask(func(int) domain.FileCommand { return domain.StartDownload{Worker: "w", Limits: once} })
	ended := ask(func(i int) domain.FileCommand {
		return domain.FailDownload{Fence: started[i].File.Fence, Reason: Broken(), Limits: once}
	})
	for i, events := range k.histories() {
		if len(events) != 4 || events[3].Seq != events[2].Seq+1 {
			k.Fatalf("%s has %d events", i, len(events))
		}
	}
	if len(ended[n-1].Rows) != 2 {
		k.Errorf("rows %v", ended[n-1].Rows)
	}
}

// testFileEach: in one call each file stands for itself.
func testFileEach(k fileKit) {
	hashes := k.discover(4)
	other := NewFileHandler(k.log)
	if _, err := other.File(k.Context(), hashes[1], domain.StartDownload{Worker: "other", Limits: thrice}, fileOrder()); err != nil {
		k.Fatal(err)
	}
	start := domain.StartDownload{Worker: "w", Limits: thrice}
	results, err := k.h.All(k.Context(), []files.Request{{Hash: hashes[0], Command: start}, {Hash: hashes[1], Command: start}, {Hash: hashes[2], Command: domain.ReadyFile{}},
		{Hash: hashes[3], Command: start}, {Hash: hashes[3], Command: domain.ReadyFile{}}, {Hash: FileSpec(9).Hash(), Command: domain.DiscoverFile{Spec: FileSpec(8)}}}, fileOrder())
	if err != nil {
		k.Fatal(err)
	}
	for i, want := range []domain.Code{"", domain.CodeIllegal, domain.CodeIllegal, "", "twice", domain.CodeBadFile} {
		switch r := results[i]; {
		case want == "" && (r.Err != nil || r.File.State != domain.FileDownloading):
			k.Errorf("file %d is %s: %v", i, r.File.State, r.Err)
		case want == "twice" && !errors.Is(r.Err, eventstore.ErrBroken):
			k.Errorf("named twice: %v", r.Err)
		case want != "" && want != "twice":
			k.refused(r.Err, want)
		}
	}
	bad := append(discoveries(5), domain.DiscoverFile{Spec: domain.FileSpec{Source: "s"}})
	fresh, err := k.h.DiscoverAll(k.Context(), bad, fileOrder())
	if k.refused(err, domain.CodeBadFile); fresh != 1 {
		k.Errorf("%d fresh beside a bad one", fresh)
	}
}
