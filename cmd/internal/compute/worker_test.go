package compute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

// urls are inputs by URL.
type urls map[string]string

func (f urls) Get(_ context.Context, url string, _ fetch.GetOptions) (io.ReadCloser, fetch.Info, error) {
	content, there := f[url]
	if !there {
		return nil, fetch.Info{}, &fetch.Error{Code: fetch.CodeHTTPStatus, Class: domain.ClassContent, URL: url, Message: "the server answered 404 Not Found"}
	}
	return io.NopCloser(strings.NewReader(content)), fetch.Info{}, nil
}

// kept are the results that are kept, by entry. While full it keeps none.
type kept struct {
	mu   sync.Mutex
	of   map[compute.ID]record.ComputeResult
	full bool
}

func (k *kept) KeepComputeResult(_ context.Context, c record.ComputeResult) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.full {
		return errors.New("full")
	}
	k.of[c.Entry] = c
	return nil
}

// bench is a queue with a worker, which is not running.
type bench struct {
	*storetest.Kit
	w    *Worker
	kept *kept
	work *store.Work
}

func newBench(t *testing.T, exec string) *bench {
	t.Helper()
	kit := storetest.NewKit(t, memory.New(memory.Options{}).Session())
	work, err := store.OpenWork(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = work.Close() })
	b := &bench{Kit: kit, kept: &kept{of: map[compute.ID]record.ComputeResult{}}, work: work}
	b.w = &Worker{Outputs: work.Outputs(), OutputLimit: 100, Handler: kit.Handler, Inputs: urls{"http://files.test/a": "one two\n"}, Records: b.kept, Exec: exec, Timeout: time.Minute, Dir: t.TempDir(), Parallel: 1, Log: slog.New(slog.DiscardHandler)}
	return b
}

// once requests an entry and lets the worker end one attempt.
func (b *bench) once(dataset string) compute.Entry {
	b.Helper()
	id := b.Request(dataset, "g", 100, dataset).State.ID
	b.w.next(b.Context())
	at, err := b.Store.LoadEntry(b.Context(), id)
	if err != nil {
		b.Fatal(err)
	}
	if left, err := os.ReadDir(b.w.Dir); err != nil || len(left) > 0 {
		b.Errorf("the worker has left %v, %v", left, err)
	}
	return at.State
}

func TestWorkerEndsEntries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		exec   string
		state  entry.State
		code   domain.Code // of the reason
		says   string      // the reason, or the result
		full   bool        // no result is kept
		counts int         // attempts
	}{
		"JSON":            {exec: `printf '{"words": %d}' $(wc -w < {in}) > {out}`, state: entry.Successful, says: `{"words": 2}`, counts: 1},
		"text":            {exec: `cat {in} > {out}`, state: entry.Successful, says: `"one two\n"`, counts: 1},
		"environment":     {exec: `echo "$ACCESSION_ENTRY $ACCESSION_DATASET:$ACCESSION_GROUP $ACCESSION_KEY $ACCESSION_ATTEMPT" > {out}`, state: entry.Successful, says: `"eid0000000001 environment:g environment 1\n"`, counts: 1},
		"again":           {exec: `echo begun; echo "no time axis" >&2; exit 3`, state: entry.Pending, code: CodeExitStatus, says: "exit status 3: begun / no time axis", counts: 1},
		"never":           {exec: `echo no data; exit 65`, state: entry.Failed, code: CodeExitStatus, says: "exit status 65: no data", counts: 1},
		"killed":          {exec: `echo begun; kill -9 $$`, state: entry.Pending, code: CodeExitStatus, says: "was killed by signal 9 (killed): begun", counts: 1},
		"its part killed": {exec: `echo begun; sh -c 'kill -9 $$'; exit $?`, state: entry.Pending, code: CodeExitStatus, says: "exit status 137, as after signal 9 (killed): begun", counts: 1},
		"no text":         {exec: `printf 'a\000\033[1mb\r\377c\n'; exit 3`, state: entry.Pending, code: CodeExitStatus, says: "exit status 3: a\ufffd\ufffd[1mb / \ufffdc", counts: 1},
		"no result":       {exec: `echo done`, state: entry.Pending, code: CodeResultInvalid, says: "exit status 0, but the command has written no result to {out}: done", counts: 1},
		"large result":    {exec: `head -c 65537 /dev/zero > {out}`, state: entry.Pending, code: CodeResultInvalid, says: "more than 65536 bytes", counts: 1},
		"no character":    {exec: `printf '"\\u0000"' > {out}`, state: entry.Pending, code: CodeResultInvalid, says: "U+0000", counts: 1},
		"nothing is kept": {exec: `echo 1 > {out}`, state: entry.Pending, code: CodeNotKept, says: "could not be kept", full: true, counts: 0},
		"quoted":          {exec: `test -f {in} && echo {in} | grep -c ' ' > {out} || true`, state: entry.Successful, says: "0", counts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.exec)
			b.kept.full = c.full
			e := b.once(name)
			if e.State != c.state || e.Attempt != c.counts {
				t.Fatalf("%+v, because of %+v", e, e.Reason)
			}
			if c.code != "" {
				if e.Reason == nil || e.Reason.Code != c.code || !strings.Contains(e.Reason.Message, c.says) {
					t.Errorf("the reason is %+v, want %s: %s", e.Reason, c.code, c.says)
				}
				return
			}
			if got := b.kept.of[e.ID]; strings.TrimSpace(string(got.Result)) != c.says || got.SHA256 != e.Result.SHA256 || got.Worker == "" {
				t.Errorf("kept %+v of %+v, want %s", got, e.Result, c.says)
			}
		})
	}
}

// What a command has started is killed with it, when it takes too long and when it has ended.
func TestCommandsAreKilledWithAllTheyStarted(t *testing.T) {
	t.Parallel()
	for name, exec := range map[string]string{
		"too long": `sleep 1000 & echo $! > %s; echo begun; echo still there >&2; wait`,
		"ended":    `sleep 1000 & echo $! > %s; echo 1 > {out}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pidFile := filepath.Join(t.TempDir(), "pid")
			b := newBench(t, fmt.Sprintf(exec, pidFile))
			b.w.Timeout = 500 * time.Millisecond
			e := b.once("d")
			if late := name == "too long"; late != (e.Reason != nil && e.Reason.Code == CodeTimeout && e.Reason.Class == domain.ClassTimeout) || late == (e.State == entry.Successful) {
				t.Errorf("%s because of %+v", e.State, e.Reason)
			} else if late && e.Reason.Message != "the command took longer than 500ms, and was killed: begun / still there" {
				t.Errorf("the reason is %q", e.Reason.Message)
			}
			text, err := os.ReadFile(pidFile)
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); runtime.Gosched() { // it was killed, and is reaped
				if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil || strings.Contains(string(stat), ") Z ") {
					return
				}
			}
			t.Errorf("process %d lives on", pid)
		})
	}
}

// A process that asks for more memory than it may have gets an error, and the attempt counts.
func TestMemoryOfCommands(t *testing.T) {
	t.Parallel()
	b := newBench(t, `dd if=/dev/zero of=/dev/null bs=256M count=1 && echo 1 > {out}`)
	if e := b.once("free"); e.State != entry.Successful {
		t.Errorf("without a limit: %+v because of %+v", e, e.Reason)
	}
	b.w.Memory = 64 << 20
	if e := b.once("limited"); e.State != entry.Pending || e.Attempt != 1 || e.Reason.Code != CodeExitStatus || !strings.Contains(e.Reason.Message, "exit status 1, under the limit of 64 MiB of memory for each process: dd: memory exhausted") {
		t.Errorf("with a limit: %+v because of %+v", e, e.Reason)
	}
}

func TestOutputsAreBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t, `yes 0123456789 | head -c 1000000; echo; echo last >&2; echo 1 > {out}`)
	e := b.once("d")
	if lines := b.kept.of[e.ID].LastLines; len(lines) > maxLines || !strings.HasSuffix(lines, "last\n") {
		t.Errorf("%d bytes of outputs are kept, at the end %q", len(lines), lines[max(0, len(lines)-20):])
	}
}

// An input that its server does not have is a failure in the words of the server, and counts.
func TestInputsThatAreMissing(t *testing.T) {
	t.Parallel()
	b := newBench(t, `true`)
	b.w.Inputs = urls{}
	if e := b.once("d"); e.State != entry.Pending || e.Attempt != 1 || e.Reason.Code != fetch.CodeHTTPStatus || e.Reason.Worker == "" {
		t.Errorf("%+v because of %+v", e, e.Reason)
	}
}

// A worker that is stopped gives its entry back, uncounted, and kills its command.
func TestStoppedWorkers(t *testing.T) {
	t.Parallel()
	begun := filepath.Join(t.TempDir(), "begun")
	if err := syscall.Mkfifo(begun, 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, `echo > `+begun+`; sleep 1000`)
	id := b.Request("d", "", 100, "k").State.ID
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = b.w.Run(ctx) })
	if _, err := os.ReadFile(begun); err != nil { // until the command has written
		t.Fatal(err)
	}
	stop()
	running.Wait()
	if at, err := b.Store.LoadEntry(t.Context(), id); err != nil || at.State.State != entry.Pending || at.State.Attempt != 0 || at.State.Reason.Code != CodeStopped {
		t.Errorf("%+v, %v", at.State, err)
	}
}

// A worker takes first what is of a group that it has worked on last.
func TestWorkersPreferWhatTheyKnow(t *testing.T) {
	t.Parallel()
	b := newBench(t, `echo 1 > {out}`)
	b.once("known")
	other, same := b.Request("other", "g", 100, "o").State.ID, b.Request("known", "g", 100, "s").State.ID
	b.w.next(t.Context())
	for id, want := range map[compute.ID]entry.State{other: entry.Pending, same: entry.Successful} {
		if at, err := b.Store.LoadEntry(t.Context(), id); err != nil || at.State.State != want {
			t.Errorf("%s is %s, %v; want %s", id, at.State.State, err, want)
		}
	}
}

// The leader returns the entries of workers that are gone until their attempts are used up, and
// purges those that have ended for longer than the retention.
func TestLeader(t *testing.T) {
	t.Parallel()
	server := memory.New(memory.Options{})
	session := server.Session()
	k := storetest.NewKit(t, session)
	worker := server.Session()
	dying := storetest.NewKit(t, worker)
	l := &Leader{Handler: k.Handler, Retention: time.Hour, Log: slog.New(slog.DiscardHandler)}
	id := k.Request("d", "", 100, "k").State.ID
	for n := range compute.DefaultAttempts {
		if _, err := dying.Handler.TakeEntry(t.Context(), compute.Wants{}, meta()); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Recover(t.Context()); err != nil { // its worker lives
			t.Fatal(err)
		}
		if at, _ := k.Store.LoadEntry(t.Context(), id); !at.State.Owned() || at.State.Attempt != n+1 {
			t.Fatalf("taken for the %d. time it is %+v", n+1, at.State)
		}
		server.Expire(worker)
		if _, err := l.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	at, err := k.Store.LoadEntry(t.Context(), id)
	if err != nil || at.State.State != entry.Failed || at.State.Reason.Code != domain.CodeWorkerLost {
		t.Fatalf("%+v, %v", at.State, err)
	}
	for _, c := range []struct {
		later time.Duration
		gone  bool
	}{{59 * time.Minute, false}, {61 * time.Minute, true}} {
		k.Handler.Clock = func() time.Time { return at.State.Modified.Add(c.later) }
		if err := l.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := k.Store.LoadEntry(t.Context(), id); (err != nil) != c.gone {
			t.Errorf("after %s: %v", c.later, err)
		}
	}
}
