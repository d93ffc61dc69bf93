package queues

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/standing"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	fairsettings "github.com/accession-ingest/accession/domain/fair/settings"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// What says a value.
const (
	SourceRunTime       = "run time"
	SourceConfiguration = "configuration"
	SourceBuiltIn       = "built in"
	// SourceUnreadable is that of a suspension because a setting cannot be read.
	SourceUnreadable = "unreadable setting"
)

// Value is a value of a deposit queue that is in effect, and what says so.
type Value struct {
	Queue  string      `json:"queue"`
	Name   string      `json:"name"` // such as allocation, or allocation of ana
	Value  string      `json:"value"`
	Source string      `json:"source"`
	By     string      `json:"by,omitempty"` // of run time: who set it
	When   domain.Time `json:"when,omitzero"`
	Why    string      `json:"why,omitempty"`
	// Setting is the version of the setting that can say it, of the queue, of a user or of a
	// processor, for If-Match; 0 = nothing was ever set of it.
	Setting int64 `json:"setting_version"`
}

// Shown is what is in effect in a deposit queue.
type Shown struct {
	ID         string   `json:"id"` // its name
	Queue      string   `json:"queue"`
	Version    int64    `json:"version"`         // of its settings; each change raises it, also of a user or a processor
	Setting    int64    `json:"setting_version"` // of what was set of the queue itself, for If-Match; 0 = nothing ever was
	Values     []Value  `json:"values"`
	Unreadable []string `json:"unreadable,omitempty"` // settings; while there are any, the queue counts as suspended
	// Parked is how many deposits are parked, null = not known.
	Parked *int64 `json:"parked"`
	// Unknown says why by, when and why are not known of a value of run time.
	Unknown string `json:"unknown,omitempty"`
}

// Show returns what is in effect in a queue, its processors too, and what says so. Who set
// a value, when and why is in the log; without it these are unknown.
func Show(ctx context.Context, a *app.App, queue string) (s Shown, err error) {
	now, err := settings(ctx, a, queue)
	if err != nil {
		return s, err
	}
	s = Shown{ID: queue, Queue: queue, Version: int64(now.Version)}
	for _, broken := range now.Unreadable {
		s.Unreadable = append(s.Unreadable, broken.ID)
	}
	s.Parked = parked(ctx, a, queue)
	versions := map[domain.Aggregate]int64{}
	version := func(kind domain.SettingKind, name string) int64 {
		if of := domain.SettingAggregate(kind, name); err == nil {
			if _, read := versions[of]; !read {
				versions[of], err = Version(ctx, a, kind, name)
			}
			return versions[of]
		}
		return 0
	}
	s.Setting = version(domain.SettingDepositQueue, queue)
	history := histories{ctx: ctx, app: a, known: map[domain.Aggregate][]domain.Recorded{}}
	of := func(name, value string, in func(fairsettings.Values) bool, kind domain.SettingKind, setting string, is func(*domain.SettingValue) string) {
		v := Value{Queue: queue, Name: name, Value: value, Source: SourceBuiltIn, Setting: version(kind, setting)}
		switch {
		case in(now.Set):
			v.Source = SourceRunTime
			if e, d := history.set(domain.SettingAggregate(kind, setting), is); d != nil {
				v.By, v.When, v.Why = string(e.Actor), e.Time, d.Why
			} else {
				s.Unknown = history.unknown()
			}
		case in(now.Configured):
			v.Source = SourceConfiguration
		}
		s.Values = append(s.Values, v)
	}
	ofQueue := func(name, value string, in func(domain.DepositQueue) bool, text func(domain.DepositQueue) string) {
		of(name, value, func(v fairsettings.Values) bool { return in(v.Queue) }, domain.SettingDepositQueue, queue, func(v *domain.SettingValue) string {
			if v == nil || v.DepositQueue == nil {
				return ""
			}
			return text(*v.DepositQueue)
		})
	}
	c := now.Config
	for _, one := range standing.ClosedIn(queue, now) {
		if one.User == "" {
			of("intake closed", one.Message, func(fairsettings.Values) bool { return true }, domain.SettingDepositQueue, queue, message)
			continue
		}
		of("intake closed of "+one.User, one.Message, func(fairsettings.Values) bool { return true }, domain.SettingUserLimit, domain.UserLimitName(queue, one.User), message)
	}
	ofQueue("suspended", strconv.FormatBool(c.Suspended), func(q domain.DepositQueue) bool { return q.Suspended }, func(q domain.DepositQueue) string { return strconv.FormatBool(q.Suspended) })
	ofQueue("prohibited", users(slices.Sorted(maps.Keys(c.Prohibited))), func(q domain.DepositQueue) bool {
		return len(q.Prohibited) > 0 || q.Prohibited != nil && now.Set.Queue.Prohibited != nil
	}, prohibited)
	ofQueue("allocation", strconv.Itoa(c.Allocation.Default), func(q domain.DepositQueue) bool { return q.Allocation != nil }, func(q domain.DepositQueue) string { return text(q.Allocation) })
	ofQueue("concurrency", strconv.Itoa(c.Concurrency.Default), func(q domain.DepositQueue) bool { return q.Concurrency != nil }, func(q domain.DepositQueue) string { return text(q.Concurrency) })
	if queue == fair.QueueMetadata {
		ofQueue("synchronous", strconv.Itoa(c.Synchronous), func(q domain.DepositQueue) bool { return q.Synchronous != nil }, func(q domain.DepositQueue) string { return text(q.Synchronous) })
		ofQueue("transfer stopped", strconv.FormatBool(now.Set.Queue.TransferStopped), func(q domain.DepositQueue) bool { return q.TransferStopped }, func(q domain.DepositQueue) string { return strconv.FormatBool(q.TransferStopped) })
	}
	limits(queue, now, of)
	for _, name := range slices.Sorted(maps.Keys(now.Processors)) {
		of("processor "+name, Criteria(now.Processors[name]), func(v fairsettings.Values) bool { _, is := v.Processors[name]; return is },
			domain.SettingProcessor, domain.ProcessorName(queue, name), func(v *domain.SettingValue) string {
				if v == nil || v.Processor == nil {
					return ""
				}
				return Criteria(*v.Processor)
			})
	}
	if first := &s.Values[0]; len(s.Unreadable) > 0 && first.Source == SourceBuiltIn {
		first.Source = SourceUnreadable
	}
	return s, err
}

// Version returns the version of a setting, 0 = nothing was ever set.
func Version(ctx context.Context, a *app.App, kind domain.SettingKind, name string) (int64, error) {
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return 0, err
	}
	is, err := handler.Live.Setting(ctx, kind, name)
	return is.State.Version, err
}

// parked counts what is parked of a queue, nil = the tables do not answer.
func parked(ctx context.Context, a *app.App, queue string) *int64 {
	var n int64
	ctx, cancel := context.WithTimeout(ctx, tablesWait)
	defer cancel()
	db, err := a.Open.DB(ctx)
	if err != nil {
		return nil
	}
	all, err := query.Parked(ctx, db, queue)
	if err != nil {
		return nil
	}
	for _, of := range all {
		n += of
	}
	return &n
}

// limits adds the limits of users.
func limits(queue string, now eventstore.QueueSettings, of func(string, string, func(fairsettings.Values) bool, domain.SettingKind, string, func(*domain.SettingValue) string)) {
	for _, one := range []struct {
		name    string
		numbers map[string]int
		field   func(domain.UserLimit) *int
	}{
		{"allocation", now.Config.Allocation.Of, func(l domain.UserLimit) *int { return l.Allocation }},
		{"concurrency", now.Config.Concurrency.Of, func(l domain.UserLimit) *int { return l.Concurrency }},
	} {
		for _, user := range slices.Sorted(maps.Keys(one.numbers)) {
			of(one.name+" of "+user, strconv.Itoa(one.numbers[user]), func(v fairsettings.Values) bool { return one.field(v.Limits[user]) != nil },
				domain.SettingUserLimit, domain.UserLimitName(queue, user), func(v *domain.SettingValue) string {
					if v == nil || v.UserLimit == nil {
						return ""
					}
					return text(one.field(*v.UserLimit))
				})
		}
	}
}

// text returns a number, "" = it is not set.
func text(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// prohibited returns the prohibited users as one text, "" = they are not set.
func prohibited(q domain.DepositQueue) string {
	if q.Prohibited == nil {
		return ""
	}
	return users(q.Prohibited)
}

// histories reads the histories of settings from the log, each once.
type histories struct {
	ctx   context.Context //nolint:containedctx // lives for one call
	app   *app.App
	known map[domain.Aggregate][]domain.Recorded
	away  error // why the log cannot be read
}

// unknown says why the event of a value is not known.
func (h *histories) unknown() string {
	if h.away != nil {
		return "the log cannot be read: " + h.away.Error()
	}
	return "its event is not in the log yet"
}

// set returns the event that gave a part of a setting its present value, nil = unknown.
func (h *histories) set(a domain.Aggregate, is func(*domain.SettingValue) string) (last domain.Recorded, d *domain.SettingChanged) {
	for _, e := range h.events(a) {
		if c, ok := e.Data.(*domain.SettingChanged); ok && is(c.Previous) != is(c.Value) {
			last, d = e, c
		}
	}
	return last, d
}

func (h *histories) events(a domain.Aggregate) (all []domain.Recorded) {
	if all, read := h.known[a]; read || h.away != nil {
		return all
	}
	log, err := h.app.Open.Log(h.ctx)
	if err == nil {
		for e, bad := range log.Read(h.ctx, eventstore.ReadOptions{Aggregate: &a}) {
			if err = bad; err != nil {
				break
			}
			all = append(all, e)
		}
	}
	h.away = err
	h.known[a] = all
	return all
}
