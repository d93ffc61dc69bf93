package domain_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

func TestHoldAndLift(t *testing.T) {
	t.Parallel()
	s := domain.Setting{Kind: domain.HoldCollection, Name: "maps"}
	for i, h := range []*domain.Hold{&onHold, nil, &onHold} {
		dec, err := domain.DecideHold(s, h, "because")
		if err != nil {
			t.Fatal(err)
		}
		e := recorded(dec.Events[0])
		if e.Type != domain.EventSettingChanged || e.Version != int64(i+1) || e.Aggregate.String() != "setting/collection:maps" {
			t.Errorf("%s %d of %s", e.Type, e.Version, e.Aggregate)
		}
		stale := s
		if s, err = domain.EvolveSetting(s, e); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(s.Hold, h) || s.Version != int64(i+1) {
			t.Errorf("evolved to %+v", s)
		}
		var unexpected *domain.Unexpected
		if _, err := domain.EvolveSetting(s, e); !errors.As(err, &unexpected) {
			t.Errorf("the same event twice: %v", err)
		}
		stale.Hold = h
		if _, err := domain.EvolveSetting(stale, e); !errors.As(err, &unexpected) {
			t.Errorf("from a state that it was not in: %v", err)
		}
		if _, err := domain.DecideHold(s, h, ""); err == nil {
			t.Error("set or lifted twice")
		} else {
			refusal(t, err, "no_change")
		}
	}
	var unexpected *domain.Unexpected
	if _, err := domain.EvolveSetting(s, recorded(domain.Event{Aggregate: s.Aggregate(), Version: 4, Data: &domain.JobMoved{}})); !errors.As(err, &unexpected) {
		t.Errorf("a job's data: %v", err)
	}
}

func TestHoldNames(t *testing.T) {
	t.Parallel()
	for kind, names := range map[domain.HoldKind]map[string]bool{
		domain.HoldCollection: {"maps": true, "ucb_maps.2": true, strings.Repeat("x", 128): true, "": false, ".": false, "..": false,
			"a/b": false, "a b": false, "a:b": false, "a\x00": false, "é": false, strings.Repeat("x", 129): false},
		domain.HoldQueue: {domain.QueueIngest: true, "pending": true, "notify": true, "failed": false, "held": false, "completed": false, "elsewhere": false},
	} {
		for name, want := range names {
			if err := domain.CheckHoldName(kind, name); (err == nil) != want {
				t.Errorf("%s %q: %v", kind, name, err)
			}
		}
	}
	_, err := domain.DecideHold(domain.Setting{Kind: domain.HoldCollection, Name: "a/b"}, &onHold, "")
	refusal(t, err, "bad_name")
}
