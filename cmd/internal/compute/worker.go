// Package compute has the workers of the compute queue, which run a command of the user's, and
// the leader that returns the entries of workers which are gone.
package compute

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/attempt"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/domain/text"
	"github.com/accession-ingest/accession/eventstore"
)

// Name is the name of this package's daemons as actors.
const Name = "compute"

// Codes of the reasons for which a worker gives up an attempt.
const (
	CodeExitStatus    domain.Code = "exit_status"     // the command ended with another one than 0
	CodeTimeout       domain.Code = "compute_timeout" // the command took too long
	CodeResultInvalid domain.Code = "result_invalid"  // what it wrote cannot be kept
	CodeStopped       domain.Code = "stopped"         // the worker was stopped
	CodeNotKept       domain.Code = "not_kept"        // a server of ours or the disk did not take it
)

// Bounds of what a command may leave.
const (
	maxResult = 64 << 10
	maxLines  = 4 << 10 // of its standard error, the last
	// never is the exit status with which a command says that another attempt does not help
	// (EX_DATAERR).
	never = 65
	// groups is how many groups a worker remembers, the last ones.
	groups = 16
	// pause is how long a worker waits after an error of the servers, and the leader between two
	// looks for orphans.
	pause = time.Second
	// writes is how long a step of a file is tried before it is looked at again.
	writes = 30 * time.Second
)

// Inputs fetches files.
type Inputs interface {
	Get(ctx context.Context, url string, o fetch.GetOptions) (io.ReadCloser, fetch.Info, error)
}

// Records keep results.
type Records interface {
	KeepComputeResult(ctx context.Context, c record.ComputeResult) error
}

// Worker takes entries and runs a command for each. All its fields are required but Datasets,
// Memory and Cache.
type Worker struct {
	Handler  *eventstore.Handler
	Inputs   Inputs
	Records  Records
	Attempts *attempt.Attempts // at the files for which entries stand
	Outputs  store.Outputs     // where outputs are kept
	Datasets []string          // that it serves, none = all
	Exec     string            // the command, with {in}, {out} and {outputs}
	Timeout  time.Duration     // of the command
	// OutputLimit is how many bytes an output may have.
	OutputLimit int64
	Memory      int64  // bytes of address space of each process of the command, 0 = any
	Cache       *Cache // what the command keeps, nil = nothing
	Dir         string // the directory of an entry is made here, and removed at its end
	Parallel    int    // how many entries at once
	Log         *slog.Logger

	mu     sync.Mutex
	recent []entry.Group // of the last entries
}

// Run takes entries until ctx ends. A command that runs then is killed, and its entry waits
// again.
func (w *Worker) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for range w.Parallel {
		all.Go(func() {
			for ctx.Err() == nil {
				w.next(ctx)
			}
		})
	}
	all.Wait()
	return nil
}

// next takes an entry, and ends it.
func (w *Worker) next(ctx context.Context) {
	taken, err := w.Handler.TakeEntry(ctx, compute.Wants{Datasets: w.Datasets, Cached: w.knows, PassLimit: compute.PassLimit}, meta())
	if err != nil {
		if ctx.Err() == nil {
			w.Log.Warn("cannot take an entry; trying again", "error", err)
			wait(ctx)
		}
		return
	}
	id := taken.State.ID
	w.remember(taken.State.Work.Of())
	w.Log.Info("taken", "entry", id, "attempt", taken.State.Attempt)
	cmd, err := w.work(ctx, taken)
	if err != nil {
		w.Log.Warn("cannot end an entry: another worker takes it over when the session of this one ends", "entry", id, "error", err)
		return
	}
	ended, err := w.Handler.EndEntry(context.WithoutCancel(ctx), taken, cmd, meta())
	switch {
	case errors.Is(err, eventstore.ErrFenced):
		w.Log.Warn("the entry is another worker's by now: what this one has made of it counts no more", "entry", id)
	case err != nil:
		w.Log.Warn("cannot end an entry: it waits again when the session of this worker ends", "entry", id, "error", err)
	default:
		w.Log.Info("ended", "entry", id, "status", ended.State.State)
	}
}

func meta() eventstore.Meta {
	return eventstore.Meta{Actor: domain.DaemonActor(Name)}
}

// knows reports whether a group is in the cache; without a cache, whether it is one of the last
// that the worker has worked on: its command may have kept what they need.
func (w *Worker) knows(g entry.Group) bool {
	if w.Cache != nil {
		return w.Cache.has(g)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.recent, g)
}

func (w *Worker) remember(g entry.Group) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recent = append(slices.DeleteFunc(w.recent, func(o entry.Group) bool { return o == g }), g)
	w.recent = w.recent[max(0, len(w.recent)-groups):]
}

// work works on an entry, and on the file that it stands for, and returns what ends it.
func (w *Worker) work(ctx context.Context, taken eventstore.Result[compute.Entry]) (compute.Command, error) {
	if step := w.Attempts.StepOf(taken.State); step != nil {
		end, err := w.insist(ctx, taken.Claim, step.Begin)
		if err != nil || end != nil {
			return end, err
		}
		working, stop := context.WithCancel(ctx)
		var watch sync.WaitGroup
		watch.Go(func() { w.watch(working, stop, step) })
		cmd := w.do(working, taken, ofJob{step})
		stop()
		watch.Wait()
		return step.End(context.WithoutCancel(ctx), cmd), nil
	}
	file := w.Attempts.Of(taken.State)
	if file == nil {
		return w.do(ctx, taken, addresses{w, taken.State.Request.Inputs}), nil
	}
	end, err := w.insist(ctx, taken.Claim, file.Begin)
	if err != nil || end != nil {
		return end, err
	}
	cmd := w.do(ctx, taken, single{file})
	return w.insist(ctx, taken.Claim, func(ctx context.Context) (compute.Command, error) { return file.End(ctx, cmd) })
}

// jobEvery is how often a worker looks whether a job still waits for what it works on.
const jobEvery = 2 * time.Second

// watch calls stop when no job waits for a step any more, and returns when ctx has ended.
func (w *Worker) watch(ctx context.Context, stop func(), step *attempt.Step) {
	look := time.NewTicker(jobEvery)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		if end, err := step.Over(ctx); err == nil && end != nil {
			w.Log.Info("no job waits for a step any more: it is not worked on", "job", step.Job, "step", step.Name)
			stop()
		}
	}
}

// insist writes a step of a file until it is written or the claim of its entry is lost; a
// worker that stops tries once more.
func (w *Worker) insist(ctx context.Context, c *eventstore.Claim, step func(ctx context.Context) (compute.Command, error)) (compute.Command, error) {
	for {
		stopping := ctx.Err() != nil
		writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), writes)
		cmd, err := step(writing)
		cancel()
		if err == nil {
			return cmd, nil
		}
		w.Log.Warn("cannot write a step of a file; trying again", "entry", c.Aggregate.ID, "error", err)
		select {
		case <-c.Lost:
			return nil, err
		case <-time.After(pause):
		}
		if stopping {
			return nil, err
		}
	}
}

// do works on an entry with its inputs, and returns what ends it.
func (w *Worker) do(ctx context.Context, taken eventstore.Result[compute.Entry], of source) compute.Command {
	e := taken.State
	again := func(class domain.Class, code domain.Code, uncounted bool, format string, args ...any) compute.Command {
		return compute.Return{Uncounted: uncounted, Reason: domain.Reason{Class: class, Code: code, Message: text.Line(fmt.Sprintf(format, args...)), Attempt: e.Attempt, Worker: e.Worker}}
	}
	claimed, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // what is not this worker's any more is not worked on
		select {
		case <-taken.Claim.Lost:
		case <-taken.Claim.Silent:
		case <-claimed.Done():
		}
		stop()
	}()
	dir, err := os.MkdirTemp(w.Dir, string(e.ID)+"-")
	if err != nil {
		wait(ctx)
		return again(domain.ClassSystem, CodeNotKept, true, "the worker cannot make a directory")
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left of it stands in no way
	inputs, err := of.inputs(claimed, dir)
	if err == nil {
		err = w.Handler.Entries.RunEntry(claimed, taken.Claim, taken.Loaded)
	}
	var bad *fetch.Error
	var damaged *attempt.Damaged
	switch {
	case claimed.Err() != nil:
		return again(domain.ClassWait, CodeStopped, true, "the worker was stopped")
	case errors.As(err, &bad):
		why := bad.Reason()
		why.Attempt, why.Worker = e.Attempt, e.Worker
		return compute.Return{Reason: why}
	case errors.As(err, &damaged):
		class := domain.ClassContent
		if _, is := of.(ofJob); is {
			class = domain.ClassSystem // no depositor can do anything about it
		}
		return again(class, damaged.Code, false, "%v", damaged)
	case err != nil:
		wait(ctx)
		return again(domain.ClassSystem, CodeNotKept, true, "the inputs could not be kept")
	}
	out, outputs := filepath.Join(dir, "out"), filepath.Join(dir, "outputs")
	if err := os.Mkdir(outputs, 0o700); err != nil {
		wait(ctx)
		return again(domain.ClassSystem, CodeNotKept, true, "the worker cannot make a directory")
	}
	env, done, err := w.environment(e)
	if err != nil {
		wait(ctx)
		return again(domain.ClassSystem, CodeNotKept, true, "the worker cannot make a directory in its cache")
	}
	env = append(env, "ACCESSION_OUTPUTS="+outputs)
	timed, cancel := context.WithTimeout(claimed, w.Timeout)
	defer cancel()
	ran, err := execute(timed, command{text: w.Exec, dir: dir, in: inputs, out: out, outputs: outputs, env: env, memory: w.Memory})
	done()
	// its returns why an attempt ends in which the command had its part, with what it wrote last.
	its := func(class domain.Class, code domain.Code, format string, args ...any) domain.Reason {
		return domain.Reason{Class: class, Code: code, Message: compute.WithLastLines(fmt.Sprintf(format, args...), ran.lines), Attempt: e.Attempt, Worker: e.Worker}
	}
	how := ran.ended(w.Memory)
	switch {
	case claimed.Err() != nil:
		return again(domain.ClassWait, CodeStopped, true, "the worker was stopped")
	case timed.Err() != nil:
		return compute.Return{Reason: its(domain.ClassTimeout, CodeTimeout, "the command took longer than %s, and was killed", w.Timeout)}
	case err != nil:
		return compute.Return{Reason: its(domain.ClassSystem, CodeExitStatus, "the command did not run: %v", err)}
	case ran.status == never:
		return compute.Fail{Reason: its(domain.ClassContent, CodeExitStatus, "%s", how)}
	case ran.status != 0:
		return compute.Return{Reason: its(domain.ClassContent, CodeExitStatus, "%s", how)}
	}
	result, size, digest, err := readResult(out)
	if err != nil {
		return compute.Return{Reason: its(domain.ClassContent, CodeResultInvalid, "%s, but %v", how, err)}
	}
	left, err := w.outputs(claimed, e, outputs)
	var unfit badOutput
	switch {
	case claimed.Err() != nil:
		return again(domain.ClassWait, CodeStopped, true, "the worker was stopped")
	case errors.As(err, &unfit):
		return compute.Return{Reason: its(domain.ClassContent, CodeResultInvalid, "%s, but %v", how, unfit)}
	case err != nil:
		w.Log.Warn("outputs cannot be kept: their entry is worked on again", "entry", e.ID, "error", err)
		wait(ctx)
		return again(domain.ClassSystem, CodeNotKept, true, "the outputs could not be kept")
	}
	kept := record.ComputeResult{Entry: e.ID, SHA256: digest, Key: e.Work.Key, Result: result, ExitStatus: ran.status, LastLines: text.Lines(ran.lines), Worker: e.Worker, Attempt: e.Attempt,
		Claim: e.Version, Outputs: left}
	if err := w.Records.KeepComputeResult(claimed, kept); err != nil {
		w.Log.Warn("a result cannot be kept: its entry is worked on again", "entry", e.ID, "error", err)
		wait(ctx)
		return again(domain.ClassSystem, CodeNotKept, true, "the result could not be kept")
	}
	return compute.Complete{Result: entry.Result{ExitStatus: ran.status, SHA256: digest, Size: size}}
}

// readResult reads what a command has written: JSON, or a text, which is kept as a string.
func readResult(name string) (result json.RawMessage, size int64, digest string, err error) {
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, "", errors.New("the command has written no result to {out}")
	}
	if err != nil {
		return nil, 0, "", errors.New("the result cannot be read")
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxResult+1))
	switch {
	case err != nil:
		return nil, 0, "", errors.New("the result cannot be read")
	case len(data) > maxResult:
		return nil, 0, "", fmt.Errorf("the result has more than %d bytes: keep it elsewhere, and write where", maxResult)
	}
	digest = fmt.Sprintf("%x", sha256.Sum256(data))
	result = data
	if !json.Valid(data) {
		if result, err = json.Marshal(text.Lines(string(data))); err != nil {
			return nil, 0, "", errors.New("the result is neither JSON nor text")
		}
	}
	if strings.Contains(string(result), `\u0000`) {
		return nil, 0, "", errors.New("the result has the character U+0000, which cannot be kept")
	}
	return result, int64(len(data)), digest, nil
}

// environment returns what a command knows of its entry. It has nothing else of the worker's
// environment but where programs and home are.
func environment(e compute.Entry) []string {
	env := []string{"ACCESSION_ENTRY=" + string(e.ID), "ACCESSION_DATASET=" + plain(e.Work.Dataset), "ACCESSION_GROUP=" + plain(e.Work.Group), "ACCESSION_KEY=" + plain(e.Work.Key),
		fmt.Sprintf("ACCESSION_ATTEMPT=%d", e.Attempt)}
	for _, name := range []string{"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"} {
		if value, is := os.LookupEnv(name); is {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// environment returns what a command knows, and what to call when it has ended.
func (w *Worker) environment(e compute.Entry) (env []string, done func(), err error) {
	env = environment(e)
	if w.Cache == nil {
		return env, func() {}, nil
	}
	dir, end, err := w.Cache.use(e.Work.Of())
	if err != nil {
		return nil, nil, err
	}
	return append(env, "ACCESSION_CACHE="+dir), func() {
		if err := end(); err != nil {
			w.Log.Warn("the cache cannot be measured or trimmed: it may become too large", "dir", w.Cache.dir, "error", err)
		}
	}, nil
}

// plain returns a text as the value of a variable.
func plain(s string) string { return strings.ReplaceAll(s, "\x00", "") }

// wait waits a moment, or until ctx ends.
func wait(ctx context.Context) {
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
}
