package directories

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	rules "github.com/accession-ingest/accession/domain/setting"
	"github.com/accession-ingest/accession/projections/query"
)

// Discovery says which open directory is polled for files of a dataset.
type Discovery struct {
	ID        string       `json:"id"` // its name
	Name      string       `json:"name"`
	URL       string       `json:"url"`
	Dataset   string       `json:"dataset"`
	Group     string       `json:"group"`              // of all its files, "" = as group_by says
	GroupBy   string       `json:"group_by,omitempty"` // pattern of groups, absent = as the dataset says
	Every     float64      `json:"every_seconds"`
	Pattern   string       `json:"pattern"` // "" = all
	Recursive bool         `json:"recursive"`
	NewerThan *domain.Time `json:"newer_than,omitempty"` // absent = all
	MaxSize   int64        `json:"max_size"`             // bytes, 0 = any
	Paused    bool         `json:"paused"`
	Version   int64        `json:"version"` // of the setting
	By        string       `json:"by"`
	When      domain.Time  `json:"when"`
	Why       string       `json:"why"`
	// Deposit says what becomes of complete groups, absent = nothing.
	Deposit *rules.GroupDeposit `json:"deposit,omitempty"`
	// Last is the last poll, absent = there was none, or it is not shown.
	Last *LastPoll `json:"last_poll,omitempty"`
	// Groups are those that became deposits and those that wait, absent = none may, or it is
	// not shown.
	Groups *Groups `json:"groups,omitempty"`
}

// Host returns the server of the directory, host and port.
func (d *Discovery) Host() string { return fetch.Host(d.URL) }

// Groups says how many groups of a discovery became deposits, and which wait for what.
type Groups struct {
	Deposited int64              `json:"deposited"`
	Waiting   int64              `json:"waiting"`
	First     []record.GroupWait `json:"first"` // of those that wait, at most 20
}

// LastPoll is the last poll of a directory. Its numbers are of the last that was complete.
type LastPoll struct {
	Begun    *domain.Time `json:"begun_at,omitempty"`    // absent = never
	Ended    *domain.Time `json:"ended_at,omitempty"`    // absent = never; before begun_at: it is under way
	Complete *domain.Time `json:"complete_at,omitempty"` // absent = never
	// Outcome is complete, unchanged, failed or postponed; "" = none has ended.
	Outcome     string      `json:"outcome"`
	Error       string      `json:"error,omitempty"`
	Next        domain.Time `json:"next_at"`
	Directories int64       `json:"directories"`
	Files       int64       `json:"files"`
	New         int64       `json:"new"`
	Known       int64       `json:"known"`
	Changed     int64       `json:"changed"`
	Gone        int64       `json:"gone"`
	LeftOut     LeftOut     `json:"left_out"`
	// Listed, Vanished and Altered are of all files that were ever listed: those that are
	// listed now, that are no more, and that have changed at their source.
	Listed   int64 `json:"listed"`
	Vanished int64 `json:"vanished"`
	Altered  int64 `json:"altered"`
}

func lastPollOf(p *record.Polled) *LastPoll {
	if p == nil {
		return nil
	}
	at := func(t time.Time) *domain.Time {
		if t.IsZero() {
			return nil
		}
		is := domain.At(t)
		return &is
	}
	return &LastPoll{Begun: at(p.Begun), Ended: at(p.Ended), Complete: at(p.Complete), Outcome: p.Outcome, Error: p.Error, Next: domain.At(p.Next),
		Directories: p.Directories, Files: p.Files, New: p.Fresh, Known: p.Known, Changed: p.Changed, Gone: p.Poll.Gone,
		LeftOut: LeftOut{Pattern: int(p.OutBy["pattern"]), Age: int(p.OutBy["age"]), Size: int(p.OutBy["size"]), Links: int(p.OutBy["link"])},
		Listed:  p.Listed, Vanished: p.Gone, Altered: p.Altered}
}

func discoveryOf(s query.Setting) Discovery {
	d := s.Discovery
	shown := Discovery{ID: s.Name, Name: s.Name, URL: d.URL, Dataset: d.Dataset, Group: d.Group, GroupBy: d.GroupBy, Deposit: d.Deposit, Every: float64(d.EverySeconds), Pattern: d.Pattern, Recursive: d.Recursive,
		MaxSize: d.MaxSize, Paused: d.Paused, Version: s.Version, By: s.By, When: domain.At(s.When), Why: s.Why}
	if !d.NewerThan.IsZero() {
		shown.NewerThan = &d.NewerThan
	}
	return shown
}

// The states of a discovery.
const (
	Polled = "polled"
	Paused = "paused"
)

// Filter chooses discoveries; empty fields choose all.
type Filter struct {
	Dataset  string
	Datasets []string // of one of these, nil = of any
	State    string   // [Polled] or [Paused]
	Host     string   // host and port of the server
}

// chooses reports whether a discovery is chosen.
func (f *Filter) chooses(d *Discovery) bool {
	return (f.Dataset == "" || d.Dataset == f.Dataset) && (f.Datasets == nil || slices.Contains(f.Datasets, d.Dataset)) &&
		(f.State == "" || d.Paused == (f.State == Paused)) && (f.Host == "" || d.Host() == f.Host)
}

// Discoveries lists the discoveries by name, as the tables have them.
func Discoveries(ctx context.Context, a *app.App, f Filter) (list []Discovery, err error) {
	defer app.Explained(&err, "list discoveries")
	set, err := inTables(ctx, a, domain.SettingDiscovery)
	list = []Discovery{}
	for _, s := range set {
		if d := discoveryOf(s); f.chooses(&d) {
			list = append(list, d)
		}
	}
	return list, err
}

// ShowDiscovery returns a discovery with its last poll.
func ShowDiscovery(ctx context.Context, a *app.App, name string) (d Discovery, err error) {
	defer app.Explained(&err, "show discovery "+name)
	s, err := shownSetting(ctx, a, domain.SettingDiscovery, name)
	if err != nil {
		return d, err
	}
	d = discoveryOf(s)
	records, err := a.Open.Records(ctx)
	if err != nil {
		return d, err
	}
	last, err := records.LastPoll(ctx, name)
	d.Last = lastPollOf(last)
	if err == nil && d.Deposit != nil {
		d.Groups = &Groups{First: []record.GroupWait{}}
		var first []record.GroupWait
		d.Groups.Deposited, d.Groups.Waiting, first, err = records.GroupsOf(ctx, name, shownGroups)
		d.Groups.First = append(d.Groups.First, first...)
	}
	return d, err
}

// shownGroups is how many groups that wait are shown.
const shownGroups = 20

// RunDiscovery has a directory polled now.
func RunDiscovery(ctx context.Context, a *app.App, name, _ string) (c app.Changed, err error) {
	defer app.Explained(&err, "run discovery "+name)
	s, err := setting(ctx, a, domain.SettingDiscovery, name)
	if err != nil {
		return c, err
	}
	if err := a.Meta().Outdated(s.Version); err != nil {
		return c, err
	}
	if s.Discovery.Paused {
		return c, &app.Error{Kind: app.Refused, Err: fmt.Errorf("the discovery %s is paused", name), Hint: "`accession discover resume " + name + "` has it polled again"}
	}
	records, err := a.Open.Records(ctx)
	if err == nil && !a.DryRun {
		err = records.AskPoll(ctx, name)
	}
	return app.Changed{Target: target.Of(s.Aggregate()), Version: s.Version, From: word(s), State: word(s), DryRun: a.DryRun,
		Effects: []string{"a process with the role discover polls it within seconds; `accession discover show " + name + "` shows the outcome"}}, err
}

// DefaultEvery is the time between two polls of those who say nothing else.
const DefaultEvery = 5 * time.Minute

// AddDiscovery has a directory polled from now on.
func AddDiscovery(ctx context.Context, a *app.App, name string, d domain.Discovery, why string) (c app.Changed, err error) {
	defer app.Explained(&err, "add discovery "+name)
	if err := reasoned(domain.SettingDiscovery, why); err != nil {
		return c, err
	}
	if !strings.HasSuffix(d.URL, "/") && !strings.ContainsAny(d.URL, "?#") {
		d.URL += "/"
	}
	d.EverySeconds = cmp.Or(d.EverySeconds, int64(DefaultEvery/time.Second))
	if _, err := setting(ctx, a, domain.SettingDiscovery, name); err == nil {
		return c, &app.Error{Kind: app.Refused, Err: fmt.Errorf("there is a discovery %s already", name), Hint: "give this one another name with --name, or remove that one with `accession discover rm " + name + "`"}
	} else if !isMissing(err) {
		return c, err
	}
	of, err := setting(ctx, a, domain.SettingDataset, d.Dataset)
	if err != nil {
		return c, err
	}
	if err := depositsGroups(ctx, a, &d, *of.Dataset); err != nil {
		return c, err
	}
	return change(ctx, a, domain.SettingDiscovery, name, why, domain.SettingValue{Discovery: &d},
		fmt.Sprintf("the directory is polled every %v by a process with the role discover", time.Duration(d.EverySeconds)*time.Second))
}

// depositsGroups completes and checks what is said of the deposits of groups, if anything is.
func depositsGroups(ctx context.Context, a *app.App, d *domain.Discovery, of domain.Dataset) error {
	if d.Deposit == nil {
		return nil
	}
	deposit := *d.Deposit
	deposit.Submitter = cmp.Or(deposit.Submitter, a.Actor.User())
	d.Deposit = &deposit
	if err := deposit.Check(); err != nil {
		return &app.Error{Kind: app.Invalid, Err: err}
	}
	if d.Group == "" && d.GroupBy == "" && of.GroupPattern == "" {
		return &app.Error{Kind: app.Invalid, Err: errors.New("its files are in no group, of which deposits could be made"), Hint: "say with --group-by which files belong together, as in '^([0-9]{8})_'"}
	}
	set, err := a.Open.Profiles()
	if err != nil {
		return err
	}
	p, err := set.Get(deposit.Profile)
	if err != nil {
		return err
	}
	if p.Collection != of.Collection {
		return &app.Error{Kind: app.Refused, Err: fmt.Errorf("the profile %s is of the collection %s, and the dataset belongs to %s", p.Name, p.Collection, of.Collection), Hint: "choose a profile of that collection"}
	}
	others, err := inTables(ctx, a, domain.SettingDiscovery)
	for _, o := range others {
		if o.Discovery.Deposit != nil && o.Discovery.Dataset == d.Dataset {
			return &app.Error{Kind: app.Refused, Err: fmt.Errorf("the discovery %s makes deposits of the groups of the dataset already", o.Name), Hint: "leave --deposit out: files of all directories of the dataset are in its groups"}
		}
	}
	return err
}

// PauseDiscovery ends that a directory is polled, until it is resumed.
func PauseDiscovery(ctx context.Context, a *app.App, name, why string) (app.Changed, error) {
	return pause(ctx, a, "pause", name, why, true)
}

// ResumeDiscovery has a directory polled again.
func ResumeDiscovery(ctx context.Context, a *app.App, name, why string) (app.Changed, error) {
	return pause(ctx, a, "resume", name, why, false)
}

func pause(ctx context.Context, a *app.App, verb, name, why string, paused bool) (c app.Changed, err error) {
	defer app.Explained(&err, verb+" discovery "+name)
	if err := reasoned(domain.SettingDiscovery, why); err != nil {
		return c, err
	}
	is, err := setting(ctx, a, domain.SettingDiscovery, name)
	if err != nil {
		return c, err
	}
	d := *is.Discovery
	d.Paused = paused
	effect := "the directory is polled again"
	if paused {
		effect = "the directory is not polled; files that were found go on"
	}
	return change(ctx, a, domain.SettingDiscovery, name, why, domain.SettingValue{Discovery: &d}, effect)
}

// RmDiscovery ends that a directory is polled.
func RmDiscovery(ctx context.Context, a *app.App, name, why string) (c app.Changed, err error) {
	defer app.Explained(&err, "remove discovery "+name)
	if err := reasoned(domain.SettingDiscovery, why); err != nil {
		return c, err
	}
	if _, err := setting(ctx, a, domain.SettingDiscovery, name); err != nil {
		return c, err
	}
	return change(ctx, a, domain.SettingDiscovery, name, why, domain.SettingValue{}, "the directory is not polled any more; files that were found go on")
}
