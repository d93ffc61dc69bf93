// Package poll reads open directories from time to time, and makes each file known that it
// finds.
//
// # Promises
//
// One process polls at a time. A poll counts as a whole or not at all: where one listing cannot
// be read nothing becomes known, and nothing counts as gone. A file becomes known once, by the
// directory and its path in it: the log refuses a second discovery. Where the slots of a dataset
// are made from the names of its groups, the group of a file that becomes known has one. A poll
// that was cut off is made again, and ends what the first has begun. A server that has asked to be left
// alone is asked for none of its directories meanwhile, unless an operator asks for a poll.
package poll

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/discover"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/projections/query"
)

// Settings reads a setting as it is now; [eventstore.Live] is one.
type Settings interface {
	Setting(ctx context.Context, kind domain.SettingKind, name string) (eventstore.Loaded[domain.Setting], error)
}

// Poller polls open directories. All fields are required.
type Poller struct {
	Files    *files.Handler
	Settings Settings
	Tables   query.DB // which discoveries there are
	Records  *record.Records
	Profiles *profile.Set
	Client   *fetch.Client
	Hosts    eventstore.Hosts
	Permits  int // for one server, of all processes
	Log      *slog.Logger
}

const (
	// look is how often it is looked which directories are due.
	look = time.Second
	// atOnce is how many directories are polled at once.
	atOnce = 4
	// again is when a directory is asked for again whose server others use.
	again = 5 * time.Second
	// longest bounds the pause that a server may ask for.
	longest = 24 * time.Hour
	// chunk is how many files become known in one write.
	chunk = files.MaxEvents
)

var actor = domain.DaemonActor("discover")

// Run polls until ctx ends.
func (p *Poller) Run(ctx context.Context) error {
	failed := false
	for {
		err := p.Once(ctx)
		if err != nil && ctx.Err() == nil && !failed {
			p.Log.Warn("open directories cannot be polled now; it is tried again", "error", err)
		}
		failed = err != nil
		select {
		case <-time.After(look):
		case <-ctx.Done():
			return nil
		}
	}
}

// Once polls each directory that is due, unless another process polls.
func (p *Poller) Once(ctx context.Context) error {
	set, err := query.SettingsOfKind(ctx, p.Tables, domain.SettingDiscovery)
	if err != nil {
		return err
	}
	versions := map[string]int64{}
	for _, s := range set {
		if !s.Discovery.Paused {
			versions[s.Name] = s.Version
		}
	}
	if len(versions) == 0 {
		return nil
	}
	release, leads, err := p.Records.LeadDiscovery(ctx)
	if err != nil || !leads {
		return err
	}
	defer release()
	due, err := p.Records.DuePolls(ctx, versions)
	if err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(atOnce)
	for name, asked := range due {
		g.Go(func() error { return p.one(ctx, name, asked) })
	}
	return g.Wait()
}

// directory is what is polled.
type directory struct {
	name    string
	version int64
	domain.Discovery
	dataset domain.Dataset
}

func (d directory) every() time.Duration { return time.Duration(d.EverySeconds) * time.Second }

// one polls a directory, and keeps how that ended; asked: an operator asked for it. The error is
// one of our own servers.
func (p *Poller) one(ctx context.Context, name string, asked bool) error {
	d, err := p.directory(ctx, name)
	if err != nil || d == nil {
		return err
	}
	before, err := p.Records.BeginPoll(ctx, name)
	if err != nil {
		return err
	}
	now := record.Poll{Begun: before.Begun, Version: d.version, URL: d.URL}
	found, err := p.find(ctx, *d, before, asked)
	if err == nil {
		if err := p.keep(ctx, *d, found, &now); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	pause := judge(&now, *d, err)
	if asked && err == nil || asked && now.Outcome == record.PollUnchanged {
		now.Host = fetch.Host(d.URL)
	}
	log := p.Log.With("discovery", name, "outcome", now.Outcome)
	if err != nil && now.Outcome != record.PollUnchanged {
		log.Warn("the poll of an open directory ended without a result", "error", err, "again", pause)
	} else if now.Fresh+now.Changed+now.Gone > 0 {
		log.Info("an open directory was polled", "files", now.Files, "new", now.Fresh, "changed", now.Changed, "gone", now.Gone)
	}
	return p.Records.EndPoll(ctx, name, now, pause)
}

// directory returns what is polled under a name, nil = nothing now.
func (p *Poller) directory(ctx context.Context, name string) (*directory, error) {
	is, err := p.Settings.Setting(ctx, domain.SettingDiscovery, name)
	if err != nil || is.State.Discovery == nil || is.State.Discovery.Paused {
		return nil, err
	}
	of, err := p.Settings.Setting(ctx, domain.SettingDataset, is.State.Discovery.Dataset)
	if err != nil || of.State.Dataset == nil {
		return nil, err
	}
	return &directory{name, is.State.Version, *is.State.Discovery, *of.State.Dataset}, nil
}

// errBusy is the error of a directory whose server others use.
var errBusy = errors.New("all permits for its server are taken: it is tried again soon")

// pausedError is the error of a directory whose server has asked to be left alone.
type pausedError struct{ left time.Duration }

func (e *pausedError) Error() string {
	return fmt.Sprintf("its server has asked to be left alone, for another %v", e.left.Round(time.Second))
}

// find reads a directory, if its server allows it and says that it has changed. A server that has
// asked to be left alone is asked only because an operator asks.
func (p *Poller) find(ctx context.Context, d directory, before record.Poll, asked bool) (*discover.Found, error) {
	of, err := p.Profiles.Get(d.dataset.Profile)
	if err != nil {
		return nil, err
	}
	policy, err := fetch.PolicyOf(of.Fetch.Allow, time.Duration(of.Fetch.Timeout), int64(of.Fetch.MinRate))
	if err != nil {
		return nil, err
	}
	host := fetch.Host(d.URL)
	paused, err := p.Records.HostPauses(ctx)
	if err != nil {
		return nil, err
	}
	if left := paused[host]; left > 0 && !asked {
		return nil, &pausedError{left}
	}
	permit, err := p.Hosts.TakePermit(ctx, eventstore.PermitOf{Name: host}, p.Permits)
	if errors.Is(err, eventstore.ErrLocked) {
		return nil, errBusy
	}
	if err != nil {
		return nil, err
	}
	defer p.Hosts.ReturnPermit(permit)
	known, err := p.known(ctx, d, before, asked)
	if err != nil {
		return nil, err
	}
	rules := discover.Rules{Pattern: d.Pattern, Recursive: d.Recursive, NewerThan: d.NewerThan.Time, MaxSize: d.MaxSize}
	return discover.FindChanged(ctx, p.Client.With(policy), d.URL, rules, discover.Most, known)
}

// keep makes what was found known, a thousand files after the other: first in the log, then as
// listed, so that a poll which is cut off in between is repeated.
func (p *Poller) keep(ctx context.Context, d directory, found *discover.Found, now *record.Poll) error {
	now.Directories = int64(found.Directories)
	now.OutBy = map[string]int64{}
	for rule, n := range found.LeftOut {
		now.OutBy[string(rule)] = int64(n)
	}
	if err := p.unchanged(ctx, d, found, now); err != nil {
		return err
	}
	pages := byPath(found.Pages)
	for some := range slices.Chunk(found.Files, chunk) {
		if err := p.some(ctx, d, some, pages, now); err != nil {
			return err
		}
	}
	gone, err := p.Records.NoteGone(ctx, d.name, now.Begun)
	if now.Gone = gone; err != nil {
		return err
	}
	return p.keepPages(ctx, d, found.Pages, now)
}

// some makes some files known.
func (p *Poller) some(ctx context.Context, d directory, found []discover.File, pages map[string]*discover.Page, now *record.Poll) error {
	var specs []domain.FileSpec
	var listed []record.Listed
	var paths []string
	for _, f := range found {
		spec := d.spec(f)
		if spec.Check() != nil {
			now.OutBy[string(discover.ByLink)]++
			leaveOut(pages, f)
			continue
		}
		specs, listed, paths = append(specs, spec), append(listed, listedAs(spec)), append(paths, f.Path)
	}
	known, err := p.Records.KnownListed(ctx, d.name, paths)
	if err != nil {
		return err
	}
	var fresh []domain.DiscoverFile
	for i, spec := range specs {
		if known[paths[i]] != listed[i].Hash {
			fresh = append(fresh, domain.DiscoverFile{Spec: spec})
		}
	}
	n, err := p.Files.DiscoverAll(ctx, fresh, eventstore.Meta{Actor: actor, TraceParent: eventstore.NewTrace().Parent()})
	if err != nil {
		return fmt.Errorf("make files known: %w", err)
	}
	if err := p.slots(ctx, d, fresh); err != nil {
		return fmt.Errorf("make slots: %w", err)
	}
	now.Files, now.Fresh, now.Known = now.Files+int64(len(specs)), now.Fresh+int64(n), now.Known+int64(len(specs)-n)
	changed, err := p.Records.KeepListed(ctx, d.name, now.Begun, listed)
	now.Changed += changed
	return err
}

// spec returns what is known of a file that was found. A rounded size is none.
func (d directory) spec(f discover.File) domain.FileSpec {
	s := domain.FileSpec{Source: d.URL, Path: f.Path, ByVersion: d.dataset.ByVersion, URL: f.URL, Collection: d.dataset.Collection, Profile: d.dataset.Profile,
		Dataset: d.Dataset, Group: d.GroupOf(d.dataset, f.Path), Host: fetch.Host(f.URL)}
	if f.Size > 0 && !f.Rounded {
		s.Size = f.Size
	}
	if !f.Modified.IsZero() {
		s.Modified = domain.At(f.Modified)
	}
	return s
}

func listedAs(s domain.FileSpec) record.Listed {
	l := record.Listed{Path: s.Path, Hash: s.Hash(), URL: s.URL}
	if s.Size > 0 {
		l.Size = &s.Size
	}
	if !s.Modified.IsZero() {
		l.Modified = &s.Modified.Time
	}
	return l
}

// judge sets how a poll ended, and returns the pause until the next one.
func judge(now *record.Poll, d directory, err error) time.Duration {
	of, answered := errors.AsType[*fetch.Error](err)
	paused, left := errors.AsType[*pausedError](err)
	every := d.every()
	switch {
	case err == nil:
		now.Outcome = record.PollComplete
	case errors.Is(err, fetch.ErrUnchanged):
		now.Outcome = record.PollUnchanged
	case errors.Is(err, errBusy):
		now.Outcome, now.Error = record.PollPostponed, err.Error()
		return min(again, every)
	case left:
		now.Outcome, now.Error = record.PollPostponed, err.Error()
		return paused.left
	case answered && of.After > 0:
		now.Outcome, now.Error = record.PollPostponed, err.Error()
		now.Host, now.HostPause = fetch.Host(d.URL), min(of.After, longest)
		return max(now.HostPause, every)
	default:
		now.Outcome, now.Error = record.PollFailed, err.Error()
	}
	return every
}
