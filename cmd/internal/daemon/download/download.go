// Package download fetches the files without a job: those of open directories.
//
// # Promises
//
// A file is downloaded by one worker at a time: it takes the file by writing that its attempt
// begins (F2, F6), which the log lets one do. What another process did with a file meanwhile is
// an ordinary answer. Before that it is promised working space, which ends with the attempt or
// the session of its process. A file that is DOWNLOADED is on disk as a whole, by the digest of its
// content ([store.Local]). An attempt whose process dies is ended by the sweeper.
package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/daemon/space"
	"github.com/accession-ingest/accession/cmd/internal/daemon/transfer"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/projections/query"
)

// Pauses keeps which servers have asked to be left alone, for all processes; [record.Records]
// does.
type Pauses interface {
	PauseHost(ctx context.Context, host string, pause time.Duration) error
	HostPauses(ctx context.Context) (map[string]time.Duration, error)
}

// Downloader fetches files without a job. All fields are required, but SpaceReserve.
type Downloader struct {
	Files    *files.Handler
	Tables   query.DB // where candidates are found
	Profiles *profile.Set
	Source   *payload.Source
	Hosts    eventstore.Hosts
	Permits  int // for one server, of all processes
	Pauses   Pauses
	// Work opens the working directory that a profile names, "" = that of the installation.
	Work         func(ctx context.Context, dir string) (*store.Work, error)
	SpaceReserve int64 // bytes that stay free
	Space        *space.Files
	// Limits returns those of the downloads of a profile's files as they are now.
	Limits  func(ctx context.Context, profile string) (domain.Limits, error)
	Delay   time.Duration // from the first failure to the next attempt, which doubles up to Most
	Most    time.Duration
	Workers int           // of this process
	Grace   time.Duration // that transfers may take when the service stops
	Log     *slog.Logger

	mu     sync.Mutex
	under  map[domain.FileHash]bool // way in this process
	busy   map[string]time.Time     // servers that are not asked until then
	paused map[string]time.Time     // those that have asked for that, as of the last round
	worker string
}

const (
	// look is how often it is looked for files.
	look = time.Second
	// page is how many are looked for at once.
	page = 200
	// longestPause bounds the pause that a server may ask for.
	longestPause = 24 * time.Hour
	// permitEvery is when a server is looked at again of which there was no permit.
	permitEvery = time.Second
	// giveBackTime bounds how long an attempt that a stop ends is written.
	giveBackTime = 2 * time.Second
)

var actor = domain.DaemonActor("download")

// Run downloads until ctx ends, and then lets transfers finish within the grace time.
func (d *Downloader) Run(ctx context.Context) error {
	d.under, d.busy, d.paused, d.worker = map[domain.FileHash]bool{}, map[string]time.Time{}, map[string]time.Time{}, d.Files.NewID()
	hard, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var workers sync.WaitGroup
	working := make(chan struct{}, max(d.Workers, 1))
	failed := false
	for ctx.Err() == nil {
		n, err := d.round(ctx, hard, working, &workers)
		if err != nil && ctx.Err() == nil && !failed {
			d.Log.Warn("files of open directories cannot be downloaded now; it is tried again", "error", err)
		}
		if failed = err != nil; n >= page && err == nil {
			continue
		}
		select {
		case <-time.After(look):
		case <-ctx.Done():
		}
	}
	stop := time.AfterFunc(d.Grace, cut)
	defer stop.Stop()
	workers.Wait()
	return nil
}

// round hands a page of files to workers, and returns their number.
func (d *Downloader) round(ctx, hard context.Context, working chan struct{}, workers *sync.WaitGroup) (n int, err error) {
	now, err := d.Files.Now(ctx)
	if err != nil {
		return 0, err
	}
	for _, state := range []domain.FileState{domain.FileDiscovered, domain.FileDownloadingFailed} {
		resting, err := d.resting(ctx)
		if err != nil {
			return n, err
		}
		found, err := query.DownloadCandidates(ctx, d.Tables, query.DownloadFilter{State: state, Busy: resting, FailedBefore: d.failedBefore(now), Limit: page})
		if err != nil {
			return n, err
		}
		for _, c := range found {
			if !d.begin(c) {
				continue
			}
			select {
			case working <- struct{}{}:
			case <-ctx.Done():
				d.end(c)
				return n, nil
			}
			n++
			workers.Go(func() {
				defer func() { d.end(c); <-working }()
				d.one(hard, c)
			})
		}
	}
	return n, nil
}

// pauses is for how many attempts the pause after them differs at most.
const pauses = 32

// failedBefore returns before when a file must have failed, by the number of its attempts.
func (d *Downloader) failedBefore(now domain.Time) []time.Time {
	before := []time.Time{now.Time}
	for n := 1; n < pauses; n++ {
		before = append(before, now.Add(-domain.Limits{Delay: d.Delay, MaxDelay: d.Most}.Wait(n)))
	}
	return before
}

// begin reports whether a file is to be tried now: this process does not work on it, and may
// ask its server.
func (d *Downloader) begin(c query.DownloadCandidate) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.under[domain.FileHash(c.RawFileHash)] || time.Now().Before(d.busy[c.Host]) || time.Now().Before(d.paused[c.Host]) {
		return false
	}
	d.under[domain.FileHash(c.RawFileHash)] = true
	return true
}

// end ends that, a moment later: the tables may not show yet what became of the file.
func (d *Downloader) end(c query.DownloadCandidate) {
	time.AfterFunc(look/2, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.under, domain.FileHash(c.RawFileHash))
	})
}

// rest has a server left alone for a while.
func (d *Downloader) rest(host string, pause time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if until := time.Now().Add(pause); until.After(d.busy[host]) {
		d.busy[host] = until
	}
}

// pause has a server left alone, by all processes, because it has asked for that.
func (d *Downloader) pause(ctx context.Context, host string, asked time.Duration) {
	asked = min(asked, longestPause)
	if err := d.Pauses.PauseHost(ctx, host, asked); err != nil {
		d.Log.Warn("that a server asks to be left alone could not be kept; this process leaves it alone", "host", host, "error", err)
		d.rest(host, asked)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paused[host] = time.Now().Add(asked)
}

// resting returns the servers that are not to be asked now.
func (d *Downloader) resting(ctx context.Context) (hosts []string, err error) {
	paused, err := d.Pauses.HostPauses(ctx)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	clear(d.paused)
	for host, left := range paused {
		d.paused[host] = now.Add(left)
		hosts = append(hosts, host)
	}
	for host, until := range d.busy {
		if now.Before(until) {
			hosts = append(hosts, host)
		} else {
			delete(d.busy, host)
		}
	}
	return hosts, nil
}

// attempt is one try to have a file.
type attempt struct {
	*Downloader
	of     profile.Profile
	limits domain.Limits
	work   *store.Work
	local  store.Local
	file   domain.File
	listed int64 // bytes, as the directory lists it now; 0 = not said
}

// one has a file that may be had, if its server has a permit.
func (d *Downloader) one(ctx context.Context, c query.DownloadCandidate) {
	hash := domain.FileHash(c.RawFileHash)
	log := d.Log.With("file", hash)
	permit, err := d.Hosts.TakePermit(ctx, eventstore.PermitOf{Name: c.Host}, d.Permits)
	if errors.Is(err, eventstore.ErrLocked) {
		d.rest(c.Host, permitEvery)
		return
	}
	if err == nil {
		defer d.Hosts.ReturnPermit(permit)
		var a *attempt
		if a, err = d.attempt(ctx, c); err == nil {
			err = a.make(ctx)
		}
	}
	if refused, ok := errors.AsType[*domain.Refused](err); ok { // another process moved it, or it is too early
		log.Debug("a file is not to be downloaded now", "reason", refused.Message)
		err = nil
	}
	if err != nil && ctx.Err() == nil {
		d.rest(c.Host, permitEvery)
		log.Warn("a file could not be taken; it is tried again", "error", err)
	}
}

func (d *Downloader) attempt(ctx context.Context, c query.DownloadCandidate) (a *attempt, err error) {
	a = &attempt{Downloader: d}
	if a.of, err = d.Profiles.Get(c.ProfileName); err != nil {
		return nil, err
	}
	if a.limits, err = d.Limits(ctx, c.ProfileName); err != nil {
		return nil, err
	}
	a.limits.Delay, a.limits.MaxDelay = d.Delay, d.Most
	if a.work, err = d.Work(ctx, a.of.WorkingDir); err != nil {
		return nil, err
	}
	a.local = a.work.Local()
	a.file, err = d.Files.Load(ctx, domain.FileHash(c.RawFileHash))
	if a.listed = a.file.Spec.Size; c.ListedSize != nil {
		a.listed = *c.ListedSize // it may have been changed since its discovery
	}
	return a, err
}

// do writes what becomes of the file.
func (a *attempt) do(ctx context.Context, cmd domain.FileCommand) error {
	r, err := a.Files.File(ctx, a.file.Hash, cmd, eventstore.Meta{Actor: actor, TraceParent: eventstore.NewTrace().Parent()})
	if err == nil {
		a.file = r.File
	}
	return err
}

// make takes a valid copy that is there (F3), or begins an attempt (F2, F6), and ends it (F4,
// F5, F7).
func (a *attempt) make(ctx context.Context) error {
	if err := a.putAway(ctx); err != nil {
		return err
	}
	m, there := a.there()
	if there && a.file.State == domain.FileDiscovered {
		return a.do(ctx, domain.FileAlreadyThere{Size: m.Bytes(), SHA256: m.SHA256()})
	}
	promised, err := a.Space.Promise(ctx, eventstore.FilePromise{File: a.file.Hash, Bytes: max(a.listed, 0), Profile: a.of.Name}, a.SpaceReserve, a.work.Free)
	if errors.Is(err, eventstore.ErrLocked) {
		return nil // another process has the file, or this one had it a moment ago
	}
	if err != nil {
		return err
	}
	defer promised()
	now, err := a.Files.Now(ctx)
	if err != nil {
		return err
	}
	err = crash.Around("download/attempt/start", func() error {
		return a.do(ctx, domain.StartDownload{Worker: a.worker, Limits: a.limits, Now: now})
	})
	if err != nil {
		return err
	}
	var failed error
	if !there {
		m, failed = a.fetch(ctx)
	}
	var end domain.FileCommand = domain.FinishDownload{Fence: a.file.Fence, Size: m.Bytes(), SHA256: m.SHA256()}
	if failed != nil {
		end = a.failed(ctx, failed)
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(context.WithoutCancel(ctx), giveBackTime)
		defer stop()
	}
	err = crash.Around("download/attempt/end", func() error { return a.do(ctx, end) })
	if at, bad := a.local.Path(a.file.Hash, m.SHA256()); err == nil && failed == nil && bad == nil {
		a.Log.Debug("a file was downloaded", "file", a.file.Hash, "path", a.file.Spec.Path, "bytes", m.Bytes(), "at", at)
	}
	return err
}

// putAway puts away the copies of a file that an operator has fetched anew, so that no attempt
// takes them for it. What another process has brought meanwhile stays.
func (a *attempt) putAway(ctx context.Context) error {
	if a.file.Reason == nil || a.file.Reason.Code != domain.CodeRedownload {
		return nil
	}
	is, err := a.Files.FromLog(ctx, []domain.FileHash{a.file.Hash})
	if err != nil || is[a.file.Hash].Version != a.file.Version {
		return err
	}
	digests, err := a.local.Contents(a.file.Hash)
	for _, sha256 := range digests {
		if err == nil {
			_, err = a.local.Quarantine(a.file.Hash, sha256, a.file.Version)
		}
	}
	return err
}

// described returns what is known of the content of the file.
func (a *attempt) described() payload.File {
	s := a.file.Spec
	return payload.File{Name: s.Path, URL: s.URL, Algorithm: manifest.Algorithm(s.DigestAlgorithm), Digest: s.DigestValue, Size: -1}
}

// there returns the measure of a valid copy of the file that is there already.
func (a *attempt) there() (m payload.Measure, ok bool) {
	digests, err := a.local.Contents(a.file.Hash)
	if err != nil {
		return m, false
	}
	for _, sha256 := range digests {
		f, err := a.local.Open(a.file.Hash, sha256)
		if err != nil {
			continue
		}
		m, err = payload.Measured(f, a.described())
		_ = f.Close()
		if err == nil && m.SHA256() == sha256 && a.fits(m.Bytes()) == nil {
			return m, true
		}
	}
	return m, false
}

// fits returns an error unless the file has as many bytes as its directory lists now. Another attempt
// may help: it may have been written meanwhile.
func (a *attempt) fits(bytes int64) error {
	if a.listed > 0 && bytes != a.listed {
		return &againError{reason.Content(reason.CodeSizeMismatch, "%s: %d bytes came, its directory lists %d", fetch.Redact(a.file.Spec.URL), bytes, a.listed)}
	}
	return nil
}

// againError is the error of a content that may be another one soon.
type againError struct{ error }

// Unwrap returns the reason.
func (e *againError) Unwrap() error { return e.error }

// Retry implements what [fetch.MayRetry] looks for.
func (e *againError) Retry() (bool, time.Duration) { return true, 0 }

// fetch puts the file on disk.
func (a *attempt) fetch(ctx context.Context) (m payload.Measure, err error) {
	service := ctx
	if a.limits.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, a.limits.Timeout)
		defer stop()
	}
	f := a.described()
	part, err := a.local.Create(a.file.Hash, a.file.Fence)
	if err != nil {
		return m, err
	}
	t := transfer.Transfer{Source: a.Source, Profile: a.of, Limits: payload.Limits{Bytes: int64(a.of.Limits.MaxFileBytes), Promised: a.listed}, Log: a.Log,
		To: func(file io.Writer) io.Writer { return file }, Same: func(m payload.Measure) error { return a.fits(m.Bytes()) }}
	m, err = t.Get(ctx, f, part)
	if again, _ := fetch.MayRetry(err); err != nil && service.Err() == nil && (!again || a.limits.Exhausted(a.file.DownloadAttempts)) {
		_ = part.Forget() // no other attempt goes on from there
	}
	if err != nil {
		part.Abort()
		return m, reason.At(f.Host(), err)
	}
	return m, a.local.Keep(part, a.file.Hash, m.SHA256())
}

// codeReleased is why an attempt was given back that nothing was wrong with.
const codeReleased domain.Code = "released"

// failed returns the end of an attempt that failed: it is given back if a stop of the service or
// our own disk was the cause, and the last one if another cannot help.
func (a *attempt) failed(ctx context.Context, err error) domain.FileCommand {
	again, after := fetch.MayRetry(err)
	end := domain.FailDownload{Fence: a.file.Fence, Reason: reason.Of(err, ""), Limits: a.limits}
	var why *reason.Problem
	switch {
	case ctx.Err() != nil:
		end.Uncounted = true
		end.Reason = domain.Reason{Class: domain.ClassCancelled, Code: codeReleased, Message: "the service was stopped"}
	case !payload.IsRemote(err) && !errors.As(err, &why):
		end.Uncounted = true
		a.rest(fetch.Host(a.file.Spec.URL), permitEvery)
	case !again:
		end.Limits.Max = max(a.file.DownloadAttempts, 1)
	case after > 0:
		a.pause(ctx, fetch.Host(a.file.Spec.URL), after)
	}
	a.Log.Info("an attempt to download failed", "file", a.file.Hash, "path", a.file.Spec.Path, "try", a.file.DownloadAttempts, "of", end.Limits.Max,
		"code", end.Reason.Code, "uncounted", end.Uncounted, "error", err, "cause", fmt.Sprint(errors.Unwrap(err)))
	return end
}
