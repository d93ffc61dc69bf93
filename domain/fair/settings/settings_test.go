package settings_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/fair/settings"
)

func number(n int) *int { return &n }

// TestMerge: what is set wins value by value, also a 0 and an empty list.
func TestMerge(t *testing.T) {
	t.Parallel()
	if c := settings.Merge(settings.Values{}, settings.New()); c.Suspended || c.Allocation.Default != fair.DefaultAllocation || c.Concurrency.Default != fair.DefaultConcurrency || c.Synchronous != fair.DefaultSynchronous || len(c.Prohibited) > 0 {
		t.Errorf("built in: %+v", c)
	}
	configured := settings.Values{
		Queue:  domain.DepositQueue{Prohibited: []string{"ana", "ben"}, Allocation: number(2), Concurrency: number(9), Synchronous: number(3)},
		Limits: map[string]domain.UserLimit{"ana": {Allocation: number(4), Concurrency: number(5)}, "ben": {Concurrency: number(1)}},
	}
	set := settings.New()
	if c := settings.Merge(configured, set); c.Allocation.Default != 2 || c.Concurrency.For("carl") != 9 || c.Allocation.For("ben") != 2 || c.Concurrency.For("ben") != 1 || !c.Prohibited["ana"] || !c.Prohibited["ben"] {
		t.Errorf("configured: %+v", c)
	}
	set.Set(domain.SettingDepositQueue, "metadata", domain.SettingValue{DepositQueue: &domain.DepositQueue{Suspended: true, Prohibited: []string{}, Allocation: number(0)}})
	set.Set(domain.SettingUserLimit, "metadata-ana", domain.SettingValue{UserLimit: &domain.UserLimit{User: "ana", Concurrency: number(0)}})
	set.Set(domain.SettingUserLimit, "metadata-a%2Eb", domain.SettingValue{UserLimit: &domain.UserLimit{User: "a.b", Allocation: number(7)}})
	set.Set(domain.SettingUserLimit, "nowhere-eve", domain.SettingValue{UserLimit: &domain.UserLimit{User: "eve", Allocation: number(7)}})
	want := fair.Config{Suspended: true, Prohibited: fair.Users{}, Allocation: fair.Limit{Default: 0, Of: map[string]int{"ana": 4, "a.b": 7}},
		Concurrency: fair.Limit{Default: 9, Of: map[string]int{"ana": 0, "ben": 1}}, Synchronous: 3}
	if c := settings.Merge(configured, set); !reflect.DeepEqual(c, want) {
		t.Errorf("set: %+v\nwant %+v", c, want)
	}
}

func TestProcessors(t *testing.T) {
	t.Parallel()
	set := settings.New()
	if p := settings.Processors("query", settings.Values{}, set); !reflect.DeepEqual(p, map[string]domain.Processor{settings.Default: {Queue: "query"}}) {
		t.Errorf("built in: %+v", p)
	}
	films := domain.Processor{Queue: "query", Users: []string{"ana"}}
	configured := settings.Values{Processors: map[string]domain.Processor{"films": films}}
	if p := settings.Processors("query", configured, set); !reflect.DeepEqual(p, map[string]domain.Processor{"films": films}) {
		t.Errorf("configured: %+v", p)
	}
	stopped := films
	stopped.Stopped = true
	set.Set(domain.SettingProcessor, "query-films", domain.SettingValue{Processor: &stopped})
	set.Set(domain.SettingProcessor, "query-new", domain.SettingValue{Processor: &films})
	if p := settings.Processors("query", configured, set); !reflect.DeepEqual(p, map[string]domain.Processor{"films": stopped, "new": films}) {
		t.Errorf("set: %+v", p)
	}
	if p := settings.Processors("query", settings.Values{}, set); len(p) != 3 {
		t.Errorf("a processor that is set takes the place of the one that is built in: %+v", p)
	}
}

// TestCheck names every fault at once.
func TestCheck(t *testing.T) {
	t.Parallel()
	v := settings.Values{Queue: domain.DepositQueue{Allocation: number(-1)}, Limits: map[string]domain.UserLimit{"ana": {Concurrency: number(-2)}, "": {Concurrency: number(1)}},
		Processors: map[string]domain.Processor{"a b": {}, "films": {MaxSize: -3}}}
	err := v.Check("query")
	if err == nil {
		t.Fatal("no fault")
	}
	for _, fault := range []string{"-1", "-2", `""`, "a b", "-3", "query"} {
		if !strings.Contains(err.Error(), fault) {
			t.Errorf("%q is not in %v", fault, err)
		}
	}
	if err := settings.New().Check("query"); err != nil {
		t.Error(err)
	}
}
