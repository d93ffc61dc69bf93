package domain_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain"
)

var queueKinds = []domain.SettingKind{domain.SettingDepositQueue, domain.SettingUserLimit, domain.SettingProcessor}

func TestQueueSettingNames(t *testing.T) {
	t.Parallel()
	for kind, names := range map[domain.SettingKind]map[string]bool{
		domain.SettingDepositQueue: {"metadata": true, "query": true, "ingest": false, "": false, "metadata-ana": false},
		domain.SettingUserLimit: {"metadata-ana": true, "query-a%2Eb": true, domain.UserLimitName("query", "Zoë B"): true,
			"metadata": false, "metadata-": false, "metadata-%": false, "metadata-a.b": false, "pending-ana": false, "query-%0A": false,
			domain.UserLimitName("query", strings.Repeat("é", 128)): true, domain.UserLimitName("query", strings.Repeat("é", 129)): false},
		domain.SettingProcessor: {"metadata-films": true, "query-Big_2-b": true, "metadata": false, "metadata-": false, "query-a/b": false, "query-a.b": false,
			"query-a@b": false, "query-š": false, "query-" + strings.Repeat("p", 64): true, "query-" + strings.Repeat("p", 65): false},
	} {
		for name, ok := range names {
			if err := domain.CheckHoldName(kind, name); (err == nil) != ok {
				t.Errorf("%s %q: %v", kind, name, err)
			}
		}
	}
	queue, user, err := domain.SplitQueueName(domain.SettingUserLimit, domain.UserLimitName("query", "ana-b"))
	if queue != "query" || user != "ana-b" || err != nil {
		t.Error(queue, user, err)
	}
}

func TestQueueSettingsThatAreRefused(t *testing.T) {
	t.Parallel()
	less, three := -1, 3
	set := domain.Setting{Kind: domain.SettingUserLimit, Name: "metadata-ana", Version: 1,
		SettingValue: domain.SettingValue{UserLimit: &domain.UserLimit{User: "ana", Allocation: &three}}}
	queue := domain.Setting{Kind: domain.SettingDepositQueue, Name: "metadata"}
	processor := domain.Setting{Kind: domain.SettingProcessor, Name: "query-films"}
	many := make([]string, 1001)
	for i := range many {
		many[i] = domain.NewJobID(int64(i + 1)).Aggregate().ID
	}
	for name, c := range map[string]struct {
		s    domain.Setting
		to   domain.SettingValue
		why  string
		code domain.Code
	}{
		"a negative default":    {queue, domain.SettingValue{DepositQueue: &domain.DepositQueue{Concurrency: &less}}, "why", domain.CodeBadLimits},
		"a negative allocation": {set, domain.SettingValue{UserLimit: &domain.UserLimit{Allocation: &less}}, "why", domain.CodeBadLimits},
		"a negative size":       {processor, domain.SettingValue{Processor: &domain.Processor{MaxSize: -1}}, "why", domain.CodeBadLimits},
		"negative workers":      {processor, domain.SettingValue{Processor: &domain.Processor{Workers: -1}}, "why", domain.CodeBadLimits},
		"too many workers":      {processor, domain.SettingValue{Processor: &domain.Processor{Workers: 257}}, "why", domain.CodeBadLimits},
		"a user without a name": {queue, domain.SettingValue{DepositQueue: &domain.DepositQueue{Prohibited: []string{""}}}, "why", domain.CodeBadLimits},
		"a user on two lines":   {processor, domain.SettingValue{Processor: &domain.Processor{Users: []string{"a\nb"}}}, "why", domain.CodeBadLimits},
		"a user of no text":     {processor, domain.SettingValue{Processor: &domain.Processor{Preferred: []string{"a\xff"}}}, "why", domain.CodeBadLimits},
		"too many users":        {queue, domain.SettingValue{DepositQueue: &domain.DepositQueue{Prohibited: many}}, "why", domain.CodeBadLimits},
		"no reason":             {set, domain.SettingValue{}, " \t", domain.CodeReasonMissing},
		"the same":              {set, set.SettingValue, "why", domain.CodeNoChange},
		"nothing as before":     {queue, domain.SettingValue{DepositQueue: &domain.DepositQueue{}}, "why", domain.CodeNoChange},
		"another kind's value":  {queue, set.SettingValue, "why", domain.CodeNoChange},
		"an unknown queue":      {domain.Setting{Kind: domain.SettingDepositQueue, Name: "pending"}, domain.SettingValue{DepositQueue: &domain.DepositQueue{Suspended: true}}, "why", domain.CodeBadName},
		"a kind of no queue":    {domain.Setting{Kind: domain.HoldCollection, Name: "maps"}, domain.SettingValue{Hold: &onHold}, "why", domain.CodeBadName},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := domain.DecideSetting(c.s, c.to, c.why)
			refusal(t, err, c.code)
		})
	}
}

// queueValue draws a value of a kind, which may be nothing.
func queueValue(t *rapid.T, kind domain.SettingKind) (v domain.SettingValue) {
	users := rapid.SliceOfN(rapid.SampledFrom([]string{"ana", "ben", "Zoë B", "a.b"}), 0, 5)
	number := func(name string) *int {
		if n := rapid.IntRange(-1, 3).Draw(t, name); n >= 0 {
			return &n
		}
		return nil
	}
	if !rapid.Bool().Draw(t, "set") {
		return v
	}
	switch kind {
	case domain.SettingDepositQueue:
		v.DepositQueue = &domain.DepositQueue{Suspended: rapid.Bool().Draw(t, "suspended"), Allocation: number("allocation"), Concurrency: number("concurrency")}
		if rapid.Bool().Draw(t, "prohibits") {
			v.DepositQueue.Prohibited = users.Draw(t, "prohibited")
		}
	case domain.SettingUserLimit:
		v.UserLimit = &domain.UserLimit{Allocation: number("allocation"), Concurrency: number("concurrency")}
	default:
		v.Processor = &domain.Processor{Users: users.Draw(t, "users"), ExcludeUsers: rapid.Bool().Draw(t, "exclude"), Preferred: users.Draw(t, "preferred"),
			MaxSize: rapid.Int64Range(0, 9).Draw(t, "size"), Workers: rapid.IntRange(0, 3).Draw(t, "workers"), Stopped: rapid.Bool().Draw(t, "stopped")}
	}
	return v
}

// TestQueueSettings: each change is one event with both values, the fold of the events is
// what was decided last, also after their way through JSON, and what was not changed is
// refused.
func TestQueueSettings(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(queueKinds).Draw(t, "kind")
		name := map[domain.SettingKind]string{domain.SettingDepositQueue: "query", domain.SettingUserLimit: "query-Zo%C3%AB", domain.SettingProcessor: "query-films"}[kind]
		s := domain.Setting{Kind: kind, Name: name}
		for range rapid.IntRange(1, 6).Draw(t, "changes") {
			drawn := queueValue(t, kind)
			to, err := domain.NormaliseSetting(kind, name, drawn)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := domain.NormaliseSetting(kind, name, to); err != nil || !reflect.DeepEqual(again, to) {
				t.Fatalf("%+v is cleaned again as %+v, %v", to, again, err)
			}
			dec, err := domain.DecideSetting(s, drawn, "why")
			if same := reflect.DeepEqual(to, s.SettingValue); same != (err != nil) {
				t.Fatalf("from %+v to %+v: %v", s.SettingValue, to, err)
			} else if same {
				var refused *domain.Refused
				if !errors.As(err, &refused) || refused.Code != domain.CodeNoChange {
					t.Fatal(err)
				}
				continue
			}
			e := recorded(dec.Events[0])
			data, err := json.Marshal(e.Data)
			if err != nil {
				t.Fatal(err)
			}
			read := &domain.SettingChanged{}
			if err := json.Unmarshal(data, read); err != nil || !reflect.DeepEqual(read.Previous, s.Value()) {
				t.Fatalf("%s, %v: was %+v", data, err, s.Value())
			}
			e.Data = read
			before := s
			if s, err = domain.EvolveSetting(s, e); err != nil || !reflect.DeepEqual(s.SettingValue, to) || s.Version != before.Version+1 {
				t.Fatalf("%+v, %v; want %+v", s, err, to)
			}
			if set := s.Status() == "set"; set != (read.To == "set") || set != (s.Value() != nil) || (read.From == "set") != (before.Value() != nil) {
				t.Fatalf("%s to %s, %+v", read.From, read.To, s)
			}
			repaired, err := domain.EvolveSetting(s, recorded(domain.DecideRepair(s, nil).Events[0]))
			if err != nil || !reflect.DeepEqual(repaired.SettingValue, s.SettingValue) {
				t.Fatalf("a repair leaves %+v, %v", repaired, err)
			}
		}
	})
}

func TestCriteria(t *testing.T) {
	t.Parallel()
	p := domain.Processor{Queue: "metadata", Users: []string{"ana"}, ExcludeUsers: true, Preferred: []string{"ben", "ana"}, MaxSize: 7, Stopped: true}.Criteria()
	if !p.Users["ana"] || len(p.Users) != 1 || !p.ExcludeUsers || !p.Preferred["ben"] || len(p.Preferred) != 2 || p.MaxSize != 7 {
		t.Errorf("%+v", p)
	}
	if !slices.Equal(domain.DepositQueues, []string{"metadata", "query"}) {
		t.Error(domain.DepositQueues)
	}
}
