package storetest

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

func testHolds(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	look := func() eventstore.Holds { return must[eventstore.Holds](k)(k.Store.Holds(t.Context())) }
	first := look()
	if len(first.Collections) != 0 || len(first.Queues) != 0 {
		t.Errorf("a new live state has holds: %+v", first)
	}
	k.Hold(domain.HoldCollection, Profile, "ana")
	k.Hold(domain.HoldQueue, "downloading", "ben")
	second := look()
	if second.Collections[Profile].By != "ana" || second.Queues["downloading"].By != "ben" || second.Version == first.Version {
		t.Errorf("after two holds: %+v", second)
	}
	if h := second.Collections[Profile]; h.Why == "" || h.When.IsZero() {
		t.Errorf("the hold lost its reason: %+v", h)
	}
	k.Hold(domain.HoldCollection, Profile, "")
	third := look()
	if len(third.Collections) != 0 || len(third.Queues) != 1 || third.Version == second.Version || third.Version == first.Version {
		t.Errorf("after releasing one: %+v", third)
	}
}

// testSettings: a setting's events are numbered on over releasing and setting, and
// a decision on an outdated setting is refused.
func testSettings(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	a := domain.SettingAggregate(domain.HoldCollection, Profile)
	load := func() eventstore.Loaded[domain.Setting] {
		return must[eventstore.Loaded[domain.Setting]](k)(k.Store.Setting(t.Context(), domain.HoldCollection, Profile))
	}
	for i, by := range []string{"ana", "", "ben", ""} {
		stale := load()
		k.Hold(domain.HoldCollection, Profile, by)
		if at := load(); at.State.Version != int64(i+1) || (at.State.Hold != nil) != (by != "") {
			t.Errorf("after %d changes: %+v", i+1, at)
		}
		var again *domain.Hold
		if by != "" {
			again = &domain.Hold{By: "eve"}
		}
		dec := must[domain.Decision](k)(domain.DecideHold(stale.State, again, ""))
		r := domain.Recorded{Event: dec.Events[0], CommandID: k.Handler.NewID()}
		after := must[domain.Setting](k)(domain.EvolveSetting(stale.State, r))
		k.unchanged(eventstore.ErrConflict, k.commit(eventstore.Change{Token: stale.Token, Events: []domain.Recorded{r},
			Setting: &eventstore.Transition[domain.Setting]{From: stale.State, To: after}}))
	}
	events := k.Events(a)
	if len(events) != 4 {
		t.Fatalf("%d events, want 4", len(events))
	}
	var s domain.Setting
	for _, e := range events {
		var err error
		if s, err = domain.EvolveSetting(s, e); err != nil {
			t.Fatal(err)
		}
	}
	_, err := k.Handler.Hold(t.Context(), domain.HoldCollection, Profile, nil, "", Operator())
	k.WantRefused(err, "no_change")
	_, err = k.Handler.Hold(t.Context(), domain.HoldQueue, "nowhere", &domain.Hold{By: "ana"}, "", Operator())
	k.WantRefused(err, "bad_name")
}

// testTimeouts: each change of the timeouts is an event, every session reads them at once,
// and they stop nothing: what was decided under the holds of before may be written.
func testTimeouts(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	load := func(k *Kit) eventstore.Loaded[domain.Setting] {
		return must[eventstore.Loaded[domain.Setting]](k)(k.Store.Setting(k.Context(), domain.SettingTimeouts, domain.TimeoutsFiles))
	}
	if at := load(k); at.State.Timeouts != nil || at.State.Version != 0 {
		t.Errorf("a new live state has %+v", at.State)
	}
	holds := must[eventstore.Holds](k)(k.Store.Holds(t.Context()))
	for i, c := range []struct{ set, want domain.Timeouts }{
		{domain.Timeouts{DownloadSeconds: 60}, domain.Timeouts{DownloadSeconds: 60}},
		{domain.Timeouts{ProcessingSeconds: 5}, domain.Timeouts{DownloadSeconds: 60, ProcessingSeconds: 5}},
	} {
		must[eventstore.Result[domain.Setting]](k)(k.Handler.Timeouts(t.Context(), c.set, "large films", Operator()))
		for _, k := range []*Kit{k, other} {
			if at := load(k); at.State.Timeouts == nil || *at.State.Timeouts != c.want || at.State.Version != int64(i+1) {
				t.Errorf("after %d changes: %+v", i+1, at)
			}
		}
	}
	stale := load(other)
	must[eventstore.Result[domain.Setting]](k)(k.Handler.Timeouts(t.Context(), domain.Timeouts{DownloadSeconds: 61}, "larger films", Operator()))
	dec := must[domain.Decision](k)(domain.DecideTimeouts(stale.State, domain.Timeouts{DownloadSeconds: 62}, "late"))
	r := domain.Recorded{Event: dec.Events[0], CommandID: k.Handler.NewID()}
	after := must[domain.Setting](k)(domain.EvolveSetting(stale.State, r))
	k.unchanged(eventstore.ErrConflict, k.commit(eventstore.Change{Token: stale.Token, Events: []domain.Recorded{r},
		Setting: &eventstore.Transition[domain.Setting]{From: stale.State, To: after}}))
	if events := k.Events(stale.State.Aggregate()); len(events) != 3 || events[2].Actor != Operator().Actor {
		t.Errorf("%d events, want 3: %+v", len(events), events)
	}
	if now := must[eventstore.Holds](k)(k.Store.Holds(t.Context())); now.Version != holds.Version || len(now.Collections)+len(now.Queues) > 0 {
		t.Errorf("timeouts changed the holds from %+v to %+v", holds, now)
	}
	_, err := k.Handler.Timeouts(t.Context(), domain.Timeouts{DownloadSeconds: 61}, "again", Operator())
	k.WantRefused(err, "no_change")
	_, err = k.Handler.Timeouts(t.Context(), domain.Timeouts{DownloadSeconds: -1}, "bad", Operator())
	k.WantRefused(err, domain.CodeBadLimits)
}

// testProfiles: each change of a profile is an event, every session reads it, and one that was
// seen in another version is refused, and one that was compared with other profiles than there
// are.
func testProfiles(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	is := func(digits string) *domain.Profile {
		sum := strings.Repeat(digits, 32)
		return &domain.Profile{Version: sum[:12], SHA256: sum}
	}
	load := func(k *Kit) eventstore.Loaded[domain.Setting] {
		return must[eventstore.Loaded[domain.Setting]](k)(k.Store.Setting(k.Context(), domain.SettingProfile, "maps"))
	}
	now := func() eventstore.Token { return must[eventstore.Token](k)(k.Store.ProfilesVersion(t.Context())) }
	for i, to := range []*domain.Profile{is("0a"), is("0b"), nil, is("0a")} {
		must[eventstore.Result[domain.Setting]](k)(k.Handler.Profile(t.Context(), "maps", to, "larger maps", now(), Operator()))
		for _, k := range []*Kit{k, other} {
			if at := load(k); !reflect.DeepEqual(at.State.Profile, to) || at.State.Version != int64(i+1) {
				t.Errorf("after %d changes: %+v", i+1, at)
			}
		}
	}
	m := Operator()
	m.IfVersion = 3
	if _, err := other.Handler.Profile(t.Context(), "maps", is("0c"), "late", now(), m); !errors.Is(err, eventstore.ErrOutdated) {
		t.Errorf("a change of another version: %v", err)
	}
	m.IfVersion = 4
	must[eventstore.Result[domain.Setting]](k)(other.Handler.Profile(t.Context(), "maps", is("0c"), "in time", now(), m))
	events := k.Events(load(k).State.Aggregate())
	if len(events) != 5 || events[4].Actor != Operator().Actor {
		t.Fatalf("%d events, want 5", len(events))
	}
	if d, ok := events[1].Data.(*domain.SettingChanged); !ok || d.Why != "larger maps" || *d.Previous.Profile != *is("0a") || *d.Value.Profile != *is("0b") {
		t.Errorf("%+v", events[1].Data)
	}
	_, err := k.Handler.Profile(t.Context(), "maps", is("0c"), "again", now(), Operator())
	k.WantRefused(err, domain.CodeNoChange)
	_, err = k.Handler.Profile(t.Context(), "../maps", is("0c"), "bad", now(), Operator())
	k.WantRefused(err, domain.CodeBadName)

	// Both were compared with the same profiles, and one of them comes first.
	among := now()
	films := must[eventstore.Loaded[domain.Setting]](k)(k.Store.Setting(t.Context(), domain.SettingProfile, "films"))
	dec := must[domain.Decision](k)(domain.DecideSetting(films.State, domain.SettingValue{Profile: is("0d")}, "new"))
	r := domain.Recorded{Event: dec.Events[0], CommandID: k.Handler.NewID()}
	after := must[domain.Setting](k)(domain.EvolveSetting(films.State, r))
	must[eventstore.Result[domain.Setting]](k)(other.Handler.Profile(t.Context(), "boats", is("0e"), "faster", among, Operator()))
	k.unchanged(eventstore.ErrConflict, k.commit(eventstore.Change{ProfilesVersion: &among, Events: []domain.Recorded{r},
		Setting: &eventstore.Transition[domain.Setting]{From: films.State, To: after}}))
	if _, err := k.Handler.Profile(t.Context(), "films", is("0d"), "new", among, Operator()); !errors.Is(err, eventstore.ErrOtherProfiles) {
		t.Errorf("a profile that was compared with others than there are: %v", err)
	}
}

// testRequireHolds: what was decided before a hold was set is not written after.
func testRequireHolds(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	id, jobs := k.Started(5)
	known := must[eventstore.Holds](k)(k.Store.Holds(t.Context()))
	accept := jobChange(k, k.Job(jobs[0]), domain.AcceptJob{}, domain.Facts{})
	accept.HoldsVersion = known.Version
	waiting := k.Submit()
	list := batchChange(k, k.Batch(waiting), domain.ListBatch{Listing: domain.Listing{Rows: 1, FirstJID: jobs[0].Plus(1)}}, domain.Facts{})
	list.HoldsVersion = known.Version
	other.Hold(domain.HoldCollection, Profile, "ana")
	k.unchanged(eventstore.ErrConflict, k.commit(accept), jobs...)
	k.unchanged(eventstore.ErrConflict, k.commit(list))
	// And with the hold known the rules refuse.
	_, err := k.Handler.Job(t.Context(), jobs[0], domain.AcceptJob{}, Operator())
	k.WantRefused(err, domain.CodeCollectionHeld)
	// What does not depend on holds goes on.
	k.DoJob(jobs[0], domain.FailJob{Reason: Broken()}, Operator())
	k.DoBatch(id, domain.BeginReport{}, Operator())
}

// testPaused: nothing is handed out of a paused queue, whoever paused it.
func testPaused(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	_, jobs := k.Started(5, 5, 5)
	batch := k.Submit()
	next := func() domain.JobID {
		c, at, err := k.Store.NextJob(t.Context(), domain.JobPending, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Store.Release(t.Context(), c, 0); err != nil {
			t.Fatal(err)
		}
		return at.State.ID
	}
	for _, queue := range []string{"pending", domain.QueueIngest, "pending"} {
		next() // this session knows that nothing is paused
		other.Hold(domain.HoldQueue, queue, "ana")
		k.never("a job of a paused queue is handed out", func(ctx context.Context) error {
			_, _, err := k.Store.NextJob(ctx, domain.JobPending, nil)
			return err
		})
		if queue == domain.QueueIngest {
			k.never("a batch is handed out although ingest is paused", func(ctx context.Context) error {
				_, _, err := k.Store.NextBatch(ctx, domain.BatchPending, nil)
				return err
			})
		}
		other.Hold(domain.HoldQueue, queue, "")
	}
	other.Hold(domain.HoldQueue, "downloading", "ana") // another queue's pause
	if id := next(); id != jobs[0] {
		t.Errorf("%s is next, want %s", id, jobs[0])
	}
	c, at, err := k.Store.NextBatch(t.Context(), domain.BatchPending, nil)
	if err != nil || at.State.ID != batch || c.Aggregate != batch.Aggregate() {
		t.Errorf("next batch %s, %v", at.State.ID, err)
	}
}

// testPauseUnderWork: work that runs may end while its queue is paused.
func testPauseUnderWork(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	_, jobs := k.Started(5)
	c, _, err := k.Store.NextJob(t.Context(), domain.JobPending, nil)
	if err != nil {
		t.Fatal(err)
	}
	k.Hold(domain.HoldQueue, domain.QueueIngest, "ana")
	k.DoJob(jobs[0], domain.AcceptJob{}, Under(c, false))
}
