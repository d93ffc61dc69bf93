package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/projtest"
)

// story writes down what is decided.
type story struct {
	t   *testing.T
	log []domain.Recorded
}

func (s *story) record(events []domain.Event, batch domain.BatchID) []domain.Recorded {
	first := len(s.log)
	for _, e := range events {
		n := len(s.log) + 1
		at := time.Date(2026, 3, 1, 12, 0, n, 0, time.UTC)
		s.log = append(s.log, domain.Recorded{Event: e, Time: domain.At(at), Stored: at, BatchID: batch,
			Actor: domain.UserActor("eve"), CommandID: fmt.Sprint(n), Epoch: 1, Seq: uint64(n)})
	}
	return s.log[first:]
}

func (s *story) file(f domain.File, commands ...func(domain.File) domain.FileCommand) domain.File {
	s.t.Helper()
	for _, c := range commands {
		dec, err := domain.DecideFile(f, c(f))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, r := range s.record(dec.Events, "bid0000000001") {
			if f, err = domain.EvolveFile(f, r); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	return f
}

// jobWithFiles returns the settings of a database with one job of 25 files: the
// first is downloaded at its second attempt, the second given up.
func jobWithFiles(t *testing.T) (env []string, first domain.FileHash) {
	s := &story{t: t}
	batch, job := domain.NewBatchID(1), domain.NewJobID(1)
	dec, err := domain.DecideBatch(domain.Batch{ID: batch}, domain.SubmitBatch{Submission: domain.Submission{ProfileName: "maps", Submitter: "eve", PayloadURL: "http://h/x",
		Type: domain.TypeFile, SubmissionMode: "add"}}, domain.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	s.record(dec.Events, batch)
	made, err := domain.DecideJob(domain.Job{ID: job}, domain.CreateJob{Configuration: domain.Configuration{BatchID: batch, ProfileName: "maps",
		PayloadURL: "http://h/x", PayloadType: domain.TypeObjectManifest, SubmissionMode: "add"}, Priority: 5}, domain.Facts{Batch: domain.BatchPending})
	if err != nil {
		t.Fatal(err)
	}
	s.record(made.Events, batch)
	var files []domain.File
	for i := range 25 {
		spec := domain.FileSpec{Source: string(job), Path: fmt.Sprintf("scans/%02d\x1b.tif", i), BatchID: batch, JobID: job, Size: 10}
		files = append(files, s.file(domain.File{Hash: spec.Hash()}, func(domain.File) domain.FileCommand { return domain.DiscoverFile{Spec: spec} }))
	}
	l := domain.Limits{Max: 2}
	start := func(domain.File) domain.FileCommand { return domain.StartDownload{Worker: "w1", Limits: l} }
	lost := func(f domain.File) domain.FileCommand {
		return domain.FailDownload{Fence: f.Fence, Reason: domain.WorkerLost("w1"), Limits: l}
	}
	fetched := func(f domain.File) domain.FileCommand {
		return domain.FinishDownload{Fence: f.Fence, Size: 12, SHA256: strings.Repeat("ab", 32)}
	}
	again := s.file(files[0], start, lost)
	s.file(again, start, fetched)
	again = s.file(files[1], start, lost)
	s.file(again, start, lost)

	db := projtest.DB(t)
	p, err := projections.New(projections.Config{DB: db, Stream: projections.StreamInfo{Name: "test", Last: uint64(len(s.log))},
		Source: func(_ context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
			return func(yield func(domain.Recorded, error) bool) {
				for _, r := range s.log[from-1:] {
					if !yield(r, nil) {
						return
					}
				}
			}
		}})
	if err == nil {
		err = p.Run(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(os.Getenv(projtest.Env))
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + db.Config().ConnConfig.Database
	return []string{"ACCESSION_POSTGRES=" + u.String(), "ACCESSION_DATA_DIR=" + t.TempDir()}, files[0].Hash
}

// fileCursor is the cursor behind a file.
func fileCursor(hash string) string {
	return base64.RawURLEncoding.EncodeToString([]byte("file/" + hash))
}

func TestFilesAreShown(t *testing.T) {
	t.Parallel()
	env, first := jobWithFiles(t)
	for _, c := range []struct {
		args       string
		code       int
		says, nots []string
	}{
		{"job show jid0000000001", 0, []string{"25 listed, 1 downloaded: 0 processed, 0 skipped, 1 given up, 0 deleted, 24 in progress", "12 of 252 downloaded",
			"scans/00�.tif", "scans/19�.tif", "and 5 more: accession file ls --job jid0000000001", "attempts_used_up"}, []string{"scans/20", "\x1b"}},
		{"file ls --job jid0000000001 --limit 3", 0, []string{string(first), "scans/02", "DOWNLOADED", "IGNORE", "DISCOVERED",
			"3 files; --limit or --cursor "}, []string{"scans/03"}},
		{"file ls --job jid0000000001 --limit 25", 0, []string{"scans/24"}, []string{"--cursor"}},
		{"file ls --cursor " + fileCursor(strings.Repeat("0", 64)), 4, []string{"there is no file 000"}, nil},
		{"file ls --batch bid0000000001 --state IGNORE", 0, []string{"scans/01", "given up after 2 of 2 attempts"}, []string{"scans/00"}},
		{"file ls --name /07", 0, []string{"scans/07"}, []string{"scans/08"}},
		{"file ls --limit 1 --cursor " + fileCursor(string(first)), 0, []string{"scans/01"}, []string{"scans/00", "scans/02"}},
		{"file ls --job jid0000000002", 4, []string{"there is no job jid0000000002"}, nil},
		{"file show " + string(first), 0, []string{"scans/00�.tif", "DOWNLOADED", strings.Repeat("ab", 32), "worker_lost", "succeeded"}, nil},
		{"file history " + string(first), 0, []string{"– → DISCOVERED", "DOWNLOADING → DOWNLOADING_FAILED", "worker w1 is gone", "DOWNLOADING → DOWNLOADED", "user/eve"}, nil},
		{"file show " + strings.Repeat("0", 64), 4, []string{"there is no such file in the tables", "hint: `accession file ls"}, nil},
		{"file show 42", 2, []string{`"42" is not a file's hash`}, nil},
		{"file ls --cursor 42", 2, []string{`"42" is no cursor`}, nil},
		{"file ls --state odd", 2, []string{`"odd" for "--state" flag: choose one of DISCOVERED`}, nil},
	} {
		code, out, errs := call(t, env, strings.Fields(c.args)...)
		if code != c.code {
			t.Errorf("accession %s: exit code %d, want %d\n%s", c.args, code, c.code, errs)
		}
		for _, want := range c.says {
			if !strings.Contains(out+errs, want) {
				t.Errorf("accession %s does not say %q:\n%s%s", c.args, want, out, errs)
			}
		}
		for _, not := range c.nots {
			if strings.Contains(out+errs, not) {
				t.Errorf("accession %s says %q:\n%s%s", c.args, not, out, errs)
			}
		}
	}
}

func TestFilesAreForProgramsToo(t *testing.T) {
	t.Parallel()
	env, first := jobWithFiles(t)
	var page app.Page[app.FileRow]
	var view app.FileView
	var moves app.Page[app.FileTransition]
	var job app.JobView
	for args, into := range map[string]any{"file ls": &page, "file show " + string(first): &view, "file history " + string(first): &moves, "job show jid0000000001": &job} {
		code, out, errs := call(t, env, append(strings.Fields(args), "-o", "json")...)
		if err := json.Unmarshal([]byte(out), into); err != nil || code != 0 {
			t.Errorf("accession %s: code %d, %v\n%s%s", args, code, err, out, errs)
		}
	}
	if len(page.Items) != 25 || page.Next != "" || page.Items[0].RawFileHash != string(first) || !slices.IsSortedFunc(page.Items, func(a, b app.FileRow) int { return strings.Compare(a.Path, b.Path) }) {
		t.Errorf("%d files: %+v", len(page.Items), page)
	}
	if view.Status != "DOWNLOADED" || len(view.Retries) != 1 || len(view.Transitions) != 5 || len(moves.Items) != 5 || moves.Items[4].Size != 12 {
		t.Errorf("%+v\n%+v", view, moves)
	}
	// Page by page everything is seen, once.
	var paged []app.FileRow
	for after := ""; ; {
		args := []string{"file", "ls", "--limit", "7", "-o", "json"}
		if after != "" {
			args = append(args, "--cursor", after)
		}
		_, out, errs := call(t, env, args...)
		var next app.Page[app.FileRow]
		if err := json.Unmarshal([]byte(out), &next); err != nil {
			t.Fatalf("%v\n%s", err, errs)
		}
		paged = append(paged, next.Items...)
		if after = string(next.Next); after == "" {
			break
		}
	}
	if !slices.EqualFunc(paged, page.Items, func(a, b app.FileRow) bool { return a.RawFileHash == b.RawFileHash }) {
		t.Errorf("%d files in pages, %d in all", len(paged), len(page.Items))
	}
	if job.FileCounts.FilesListed != 25 || len(job.FirstFiles) != 20 {
		t.Errorf("%+v", job)
	}
}
