package storetest

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/fair/settings"
	"github.com/accession-ingest/accession/eventstore"
)

// SetQueue sets the value of a setting of a deposit queue.
func (k *Kit) SetQueue(kind domain.SettingKind, name string, to domain.SettingValue) {
	k.Helper()
	must[eventstore.Result[domain.Setting]](k)(k.Handler.QueueSetting(k.Context(), kind, name, func(domain.SettingValue) domain.SettingValue { return to }, "a test", Operator()))
}

// queueSettings waits until a store has settings of a queue that are as wanted.
func (k *Kit) queueSettings(queue string, want func(eventstore.QueueSettings) bool) eventstore.QueueSettings {
	k.Helper()
	ctx, cancel := context.WithTimeout(k.Context(), 30*time.Second)
	defer cancel()
	for {
		changed := k.Store.QueueSettingsChanged(queue)
		now, err := k.Store.QueueSettings(ctx, queue)
		if err != nil {
			k.Fatal(err)
		}
		if want(now) {
			return now
		}
		select {
		case <-changed:
		case <-ctx.Done():
			k.Fatalf("the settings of %s stay %+v", queue, now)
		}
	}
}

// testQueueSettings: every kind of setting of a queue changes its version, and that of no
// other queue; the process that wrote it reads it at once, others soon. Holds
// are not concerned.
func testQueueSettings(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	present := func(eventstore.QueueSettings) bool { return true }
	first, query := k.queueSettings("metadata", present), k.queueSettings("query", present)
	if c := first.Config; c.Suspended || c.Allocation.Default != fair.DefaultAllocation || c.Concurrency.Default != fair.DefaultConcurrency || len(first.Unreadable) > 0 ||
		!reflect.DeepEqual(first.Processors, map[string]domain.Processor{settings.Default: {Queue: "metadata"}}) {
		t.Errorf("a new live state has %+v", first)
	}
	holds := must[eventstore.Holds](k)(k.Store.Holds(t.Context()))
	three, none := 3, 0
	versions := map[eventstore.Token]bool{first.Version: true}
	for _, c := range []struct {
		kind domain.SettingKind
		name string
		to   domain.SettingValue
		is   func(eventstore.QueueSettings) bool
	}{
		{domain.SettingDepositQueue, "metadata", domain.SettingValue{DepositQueue: &domain.DepositQueue{Suspended: true, Prohibited: []string{"eve"}, Concurrency: &three}},
			func(q eventstore.QueueSettings) bool {
				return q.Config.Suspended && q.Config.Prohibited["eve"] && q.Config.Concurrency.For("ana") == 3
			}},
		{domain.SettingUserLimit, domain.UserLimitName("metadata", "a.b c"), domain.SettingValue{UserLimit: &domain.UserLimit{Allocation: &none, Concurrency: &three}},
			func(q eventstore.QueueSettings) bool {
				return q.Config.Allocation.For("a.b c") == 0 && q.Config.Concurrency.For("a.b c") == 3 && q.Set.Limits["a.b c"].User == "a.b c"
			}},
		{domain.SettingProcessor, domain.ProcessorName("metadata", "films"), domain.SettingValue{Processor: &domain.Processor{Users: []string{"ana"}, MaxSize: 9}},
			func(q eventstore.QueueSettings) bool {
				return q.Processors["films"].MaxSize == 9 && q.Processors["films"].Queue == "metadata" && len(q.Processors) == 2
			}},
		{domain.SettingDepositQueue, "metadata", domain.SettingValue{},
			func(q eventstore.QueueSettings) bool { return !q.Config.Suspended && len(q.Config.Prohibited) == 0 }},
		{domain.SettingUserLimit, domain.UserLimitName("metadata", "a.b c"), domain.SettingValue{},
			func(q eventstore.QueueSettings) bool { return q.Config.Allocation.For("a.b c") == 1 }},
		{domain.SettingProcessor, domain.ProcessorName("metadata", "films"), domain.SettingValue{},
			func(q eventstore.QueueSettings) bool { return len(q.Processors) == 1 }},
	} {
		other.queueSettings("metadata", present)
		changed := other.Store.QueueSettingsChanged("metadata")
		k.SetQueue(c.kind, c.name, c.to)
		now := k.queueSettings("metadata", present)
		if !c.is(now) || versions[now.Version] {
			t.Errorf("%s %s to %+v: the process that wrote it reads %+v", c.kind, c.name, c.to, now)
		}
		versions[now.Version] = true
		<-changed
		if there := other.queueSettings("metadata", c.is); there.Version != now.Version {
			t.Errorf("%s %s: versions %d and %d", c.kind, c.name, now.Version, there.Version)
		}
	}
	if now := other.queueSettings("query", present); !reflect.DeepEqual(now, query) {
		t.Errorf("the settings of query changed to %+v", now)
	}
	if now := must[eventstore.Holds](k)(k.Store.Holds(t.Context())); now.Version != holds.Version {
		t.Errorf("the settings of a queue changed the holds from %+v to %+v", holds, now)
	}
	_, err := k.Store.QueueSettings(t.Context(), "pending")
	k.WantRefused(err, domain.CodeBadName)
}

// testQueueSettingEvents: each change is an event, and what was decided on an outdated
// setting is not written.
func testQueueSettingEvents(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	three := 3
	name := domain.UserLimitName("query", "ana")
	k.SetQueue(domain.SettingUserLimit, name, domain.SettingValue{UserLimit: &domain.UserLimit{Allocation: &three}})
	stale := must[eventstore.Loaded[domain.Setting]](k)(k.Store.Setting(t.Context(), domain.SettingUserLimit, name))
	k.SetQueue(domain.SettingUserLimit, name, domain.SettingValue{})
	dec := must[domain.Decision](k)(domain.DecideSetting(stale.State, domain.SettingValue{}, "late"))
	r := domain.Recorded{Event: dec.Events[0], CommandID: k.Handler.NewID()}
	after := must[domain.Setting](k)(domain.EvolveSetting(stale.State, r))
	k.unchanged(eventstore.ErrConflict, k.commit(eventstore.Change{Token: stale.Token, Events: []domain.Recorded{r},
		Setting: &eventstore.Transition[domain.Setting]{From: stale.State, To: after}}))
	var s domain.Setting
	events := k.Events(stale.State.Aggregate())
	for _, e := range events {
		s = must[domain.Setting](k)(domain.EvolveSetting(s, e))
	}
	at := must[eventstore.Loaded[domain.Setting]](k)(k.Store.Setting(t.Context(), domain.SettingUserLimit, name))
	if len(events) != 2 || events[1].Actor != Operator().Actor || !reflect.DeepEqual(s, at.State) || s.UserLimit != nil {
		t.Errorf("%d events, which lead to %+v; it is %+v", len(events), s, at.State)
	}
	_, err := k.Handler.QueueSetting(t.Context(), domain.SettingUserLimit, name, func(domain.SettingValue) domain.SettingValue { return domain.SettingValue{} }, "again", Operator())
	k.WantRefused(err, domain.CodeNoChange)
	_, err = k.Handler.QueueSetting(t.Context(), domain.SettingProcessor, "nowhere-films", func(domain.SettingValue) domain.SettingValue { return domain.SettingValue{} }, "why", Operator())
	k.WantRefused(err, domain.CodeBadName)
}
