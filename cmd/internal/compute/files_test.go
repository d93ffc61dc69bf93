package compute

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/attempt"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/cmd/internal/validate"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/eligible"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/domain/setting"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/projections/query"
)

// plant has a file that is READY, a requester, a worker, and the leader of another process.
type plant struct {
	*bench
	server   *memory.Server
	session  *memory.Store // of the worker
	leader   *Leader
	req      *Requester
	attempts *attempt.Attempts
	limits   domain.Limits
	clock    *memory.ManualClock
	content  string // the local copy
	hash     domain.FileHash
}

func newPlant(t *testing.T, exec string) *plant {
	t.Helper()
	p := &plant{server: memory.New(memory.Options{}), limits: domain.Limits{Max: 3}, clock: memory.NewManualClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))}
	p.session = p.server.Session()
	p.bench = &bench{Kit: storetest.NewKit(t, p.session), kept: &kept{of: map[compute.ID]record.ComputeResult{}}}
	p.content = filepath.Join(t.TempDir(), "copy")
	p.attempts = &attempt.Attempts{Files: storetest.NewFileHandler(memory.NewLog(p.clock)), Contents: p, Actor: domain.DaemonActor(Name),
		Limits: func(context.Context, string) (domain.Limits, error) { return p.limits, nil }}
	quiet := slog.New(slog.DiscardHandler)
	work, err := store.OpenWork(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = work.Close() })
	p.w = &Worker{Outputs: work.Outputs(), OutputLimit: 100, Handler: p.Handler, Inputs: urls{}, Records: p.kept, Attempts: p.attempts, Exec: exec, Timeout: time.Minute, Dir: t.TempDir(), Parallel: 1, Log: quiet}
	other := storetest.NewKit(t, p.server.Session())
	p.leader = &Leader{Handler: other.Handler, Attempts: p.attempts, Retention: time.Hour, Log: quiet}
	p.req = &Requester{Handler: other.Handler, Files: p.attempts.Files, Tables: p, Interval: time.Second, Log: quiet,
		Rules: func(context.Context, string) (setting.Rules, error) {
			return setting.Rules{Process: &setting.Process{}}, nil
		}}
	sum := sha256.Sum256([]byte("content"))
	if err := os.WriteFile(p.content, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := domain.FileSpec{Source: "http://files.test/", Path: "night/a.dat", Dataset: "nights", Group: "one"}
	p.hash = spec.Hash()
	p.do(domain.DiscoverFile{Spec: spec})
	p.do(domain.FileAlreadyThere{Size: 7, SHA256: hex.EncodeToString(sum[:])})
	p.do(domain.ReadyFile{})
	return p
}

// Open implements attempt.Contents.
func (p *plant) Open(domain.FileHash, string) (*os.File, error) {
	f, err := os.Open(p.content)
	if errors.Is(err, fs.ErrNotExist) {
		err = &store.Error{Code: store.CodeNotFound, Err: err}
	}
	return f, err
}

// Ready implements Ready: the tables are never behind.
func (p *plant) Ready(_ context.Context, after domain.FileHash, _ int) ([]query.WaitingFile, error) {
	f := p.file()
	if f.State != domain.FileReady || f.Hash <= after {
		return nil, nil
	}
	return []query.WaitingFile{{File: eligible.File{Hash: f.Hash, State: f.State}, Version: f.Version, Dataset: f.Spec.Dataset, Group: f.Spec.Group}}, nil
}

func (p *plant) do(cmd domain.FileCommand) {
	p.Helper()
	if _, err := p.attempts.Files.File(p.Context(), p.hash, cmd, eventstore.Meta{Actor: "daemon/test"}); err != nil {
		p.Fatal(err)
	}
}

func (p *plant) file() domain.File {
	p.Helper()
	f, err := p.attempts.Files.Load(p.Context(), p.hash)
	if err != nil {
		p.Fatal(err)
	}
	return f
}

// asked makes a pass of the requester, and returns the entry of an attempt.
func (p *plant) asked(attempt int) compute.ID {
	p.Helper()
	if _, err := p.req.Once(p.Context()); err != nil {
		p.Fatal(err)
	}
	id, err := p.Store.EntryOfKey(p.Context(), compute.Attempt{Hash: p.hash, Number: attempt}.Key())
	if err != nil {
		p.Fatalf("attempt %d: %v", attempt, err)
	}
	return id
}

// are compares file and entry, with the code of the entry's reason.
func (p *plant) are(file domain.FileState, id compute.ID, state entry.State, code domain.Code) {
	p.Helper()
	at, err := p.Store.LoadEntry(p.Context(), id)
	var got domain.Code
	if at.State.Reason != nil {
		got = at.State.Reason.Code
	}
	if f := p.file(); err != nil || f.State != file || at.State.State != state || got != code {
		p.Errorf("the file is %s, the entry %s (%s), %v; want %s, %s (%s)", f.State, at.State.State, got, err, file, state, code)
	}
}

// TestFilesAreProcessed: the file of an entry is processed with it, and names it as its result.
func TestFilesAreProcessed(t *testing.T) {
	t.Parallel()
	p := newPlant(t, `cat {in} > {out}; rm -f {in}`)
	id := p.asked(1)
	if again := p.asked(1); again != id {
		t.Errorf("it was requested twice: %s, %s", id, again)
	}
	p.w.next(t.Context())
	p.are(domain.FileProcessed, id, entry.Successful, "")
	f := p.file()
	if f.Output == nil || f.Output.Key != string(id) || f.Output.SHA256 != p.kept.of[id].SHA256 || string(p.kept.of[id].Result) != `"content"` {
		t.Errorf("%+v, %+v", f.Output, p.kept.of[id])
	}
	if _, err := os.Stat(p.content); err != nil {
		t.Errorf("the command has removed the local copy: %v", err)
	}
}

// TestFilesThatFail: an attempt that fails counts, and the next one is another entry; the last
// one ends the file as given up, as does an attempt after which another cannot help.
func TestFilesThatFail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		exec string
		code domain.Code
		last int
	}{
		"each time": {`exit 3`, CodeExitStatus, 3},
		"for good":  {`exit 65`, CodeExitStatus, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlant(t, c.exec)
			for n := range c.last {
				id := p.asked(n + 1)
				p.w.next(t.Context())
				if n+1 < c.last {
					p.are(domain.FileReady, id, entry.Failed, c.code)
				} else {
					p.are(domain.FileAbandoned, id, entry.Failed, domain.CodeAttemptsUsedUp)
				}
			}
			// An operator takes it up again: the attempts count from 1, under the key of the first.
			p.do(domain.ReopenFile{Reason: domain.Reason{Class: domain.ClassWait, Code: "requested", Message: "again"}})
			p.w.Exec = `echo 1 > {out}`
			id := p.asked(1)
			p.w.next(t.Context())
			p.are(domain.FileProcessed, id, entry.Successful, "")
		})
	}
}

// TestFilesThatAreDamaged: the local copy is compared when the attempt begins.
func TestFilesThatAreDamaged(t *testing.T) {
	t.Parallel()
	for content, code := range map[string]domain.Code{"other": domain.CodeDigestMismatch, "": validate.CodeMissing} {
		p := newPlant(t, `cat {in} > {out}`)
		err := os.Remove(p.content)
		if err == nil && content != "" {
			err = os.WriteFile(p.content, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		id := p.asked(1)
		p.w.next(t.Context())
		p.are(domain.FileReady, id, entry.Failed, code)
	}
}

// TestFilesThatPause: while a file must pause it is not READY, and the sweeper makes it so.
func TestFilesThatPause(t *testing.T) {
	t.Parallel()
	p := newPlant(t, `exit 3`)
	p.limits.Delay = time.Hour
	id := p.asked(1)
	p.w.next(t.Context())
	p.are(domain.FileProcessingFailed, id, entry.Failed, CodeExitStatus)
}

// TestFilesOfStoppedWorkers: the attempt of a worker that stops is given back, with its entry.
func TestFilesOfStoppedWorkers(t *testing.T) {
	t.Parallel()
	p := newPlant(t, `sleep 1000`)
	id := p.asked(1)
	ctx, stop := context.WithCancel(t.Context())
	taken := p.take(id)
	stop()
	cmd, err := p.w.work(ctx, taken)
	if err == nil {
		_, err = p.w.Handler.EndEntry(t.Context(), taken, cmd, meta())
	}
	if err != nil {
		t.Fatal(err)
	}
	p.are(domain.FileReady, id, entry.Pending, CodeStopped)
	if f := p.file(); f.ProcessingAttempts != 0 {
		t.Errorf("%d attempts", f.ProcessingAttempts)
	}
}

// take takes the entry, as the worker does.
func (p *plant) take(id compute.ID) eventstore.Result[compute.Entry] {
	p.Helper()
	taken, err := p.w.Handler.TakeEntry(p.Context(), compute.Wants{}, meta())
	if err != nil || taken.State.ID != id {
		p.Fatal(taken.State.ID, err)
	}
	return taken
}

// TestFilesTakenOver: the process that takes over from a worker that died between two steps makes
// the missing half, and what the worker does later is refused.
func TestFilesTakenOver(t *testing.T) {
	t.Parallel()
	complete := compute.Complete{Result: entry.Result{SHA256: hexOf("1\n"), Size: 2}}
	failed := compute.Return{Reason: domain.Reason{Class: domain.ClassContent, Code: CodeExitStatus, Message: "the command ended with exit status 3"}}
	for name, c := range map[string]struct {
		begin bool
		end   compute.Command // of the file, nil = it has not come to that
		file  domain.FileState
		entry entry.State
		code  domain.Code
	}{
		"before F11":   {false, nil, domain.FileReady, entry.Pending, domain.CodeWorkerLost},
		"after F11":    {true, nil, domain.FileReady, entry.Failed, domain.CodeWorkerLost},
		"after F12":    {true, complete, domain.FileProcessed, entry.Successful, ""},
		"after F14":    {true, failed, domain.FileReady, entry.Failed, domain.CodeWorkerLost},
		"given up":     {true, compute.Fail{Reason: failed.Reason}, domain.FileAbandoned, entry.Failed, domain.CodeAttemptsUsedUp},
		"given back":   {true, compute.Return{Reason: failed.Reason, Uncounted: true}, domain.FileReady, entry.Pending, domain.CodeWorkerLost},
		"after it all": {true, complete, domain.FileProcessed, entry.Successful, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlant(t, `exit 0`)
			id := p.asked(1)
			taken := p.take(id)
			a := p.attempts.Of(taken.State)
			if c.begin {
				if end, err := a.Begin(t.Context()); end != nil || err != nil {
					t.Fatal(end, err)
				}
			}
			if c.end != nil {
				if _, err := a.End(t.Context(), c.end); err != nil {
					t.Fatal(err)
				}
			}
			p.server.Expire(p.session)
			if _, err := p.leader.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			at, err := p.leader.Handler.Entries.LoadEntry(t.Context(), id)
			code := domain.Code("")
			if at.State.Reason != nil {
				code = at.State.Reason.Code
			}
			if f := p.file(); err != nil || f.State != c.file || at.State.State != c.entry || code != c.code {
				t.Errorf("%s, %s (%s), %v; want %+v", f.State, at.State.State, code, err, c)
			}
			if c.begin && c.end == nil { // the worker comes back late
				if end, err := a.End(t.Context(), complete); err != nil {
					t.Fatal(err)
				} else if _, failed := end.(compute.Fail); !failed || p.file().State != domain.FileReady {
					t.Errorf("late: %+v, %s", end, p.file().State)
				}
			}
		})
	}
}

// TestFileOfTwoWorkers: a worker that begins the attempt at a file after it has lost the entry
// does not keep the file: the next one ends that attempt.
func TestFileOfTwoWorkers(t *testing.T) {
	t.Parallel()
	p := newPlant(t, `echo 1 > {out}`)
	id := p.asked(1)
	late := p.attempts.Of(p.take(id).State)
	p.server.Expire(p.session)
	if _, err := p.leader.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if end, err := late.Begin(t.Context()); end != nil || err != nil {
		t.Fatal(end, err)
	}
	p.session = p.server.Session()
	p.Kit = storetest.NewKit(t, p.session)
	p.w.Handler = p.Handler
	p.w.next(t.Context())
	p.are(domain.FileReady, id, entry.Failed, domain.CodeWorkerLost)
	second := p.asked(2)
	p.w.next(t.Context())
	p.are(domain.FileProcessed, second, entry.Successful, "")
}

// TestFilesThatNoWorkerProcesses: no entry is requested where the rules do not say so.
func TestFilesThatNoWorkerProcesses(t *testing.T) {
	t.Parallel()
	p := newPlant(t, `exit 0`)
	p.req.Rules = func(context.Context, string) (setting.Rules, error) { return setting.Rules{}, nil }
	if n, err := p.req.Once(t.Context()); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func hexOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
