package domain_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/setting"
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
			t.Error("set or released twice")
		} else {
			refusal(t, err, "no_change")
		}
	}
	var unexpected *domain.Unexpected
	if _, err := domain.EvolveSetting(s, recorded(domain.Event{Aggregate: s.Aggregate(), Version: 4, Data: &domain.JobMoved{}})); !errors.As(err, &unexpected) {
		t.Errorf("a job's data: %v", err)
	}
}

// TestTimeouts: what is not named stays, each change is one event with both values and
// the reason, and what process has the setting decides by it alone.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	s := domain.Setting{Kind: domain.SettingTimeouts, Name: domain.TimeoutsFiles}
	if d := s.Timeouts.Download(time.Hour); d != time.Hour || s.Status() != "unset" {
		t.Errorf("unset: %v, %s", d, s.Status())
	}
	for i, c := range []struct{ set, want domain.Timeouts }{
		{domain.Timeouts{ProcessingSeconds: 60}, domain.Timeouts{ProcessingSeconds: 60}},
		{domain.Timeouts{DownloadSeconds: 30}, domain.Timeouts{DownloadSeconds: 30, ProcessingSeconds: 60}},
		{domain.Timeouts{DownloadSeconds: 1, ProcessingSeconds: 604800}, domain.Timeouts{DownloadSeconds: 1, ProcessingSeconds: 604800}},
	} {
		dec, err := domain.DecideTimeouts(s, c.set, "large films")
		if err != nil {
			t.Fatal(err)
		}
		e := recorded(dec.Events[0])
		d := e.Data.(*domain.SettingChanged) //nolint:forcetypeassert // all changes are
		if e.Version != int64(i+1) || e.Aggregate.String() != "setting/timeouts:files" || d.Why != "large films" || d.To != "set" || (d.From == "set") != (i > 0) || d.Hold != nil {
			t.Errorf("%d: %+v %+v", i, e, d)
		}
		if !reflect.DeepEqual(d.Previous, s.Value()) || !reflect.DeepEqual(d.Value, &domain.SettingValue{Timeouts: &c.want}) {
			t.Errorf("%d: from %+v to %+v", i, d.Previous, d.Value)
		}
		stale := s
		if s, err = domain.EvolveSetting(s, e); err != nil || *s.Timeouts != c.want {
			t.Fatalf("%+v, %v", s, err)
		}
		var unexpected *domain.Unexpected
		if _, err := domain.EvolveSetting(s, e); !errors.As(err, &unexpected) {
			t.Errorf("the same event twice: %v", err)
		}
		if _, err := domain.EvolveSetting(domain.Setting{}, e); i > 0 && !errors.As(err, &unexpected) {
			t.Errorf("a later event first: %v", err)
		}
		if after, err := domain.EvolveSetting(s, recorded(domain.DecideRepair(s, nil).Events[0])); err != nil || !reflect.DeepEqual(after.Timeouts, s.Timeouts) || after.Version != s.Version+1 {
			t.Errorf("a repair leaves %+v, %v", after, err)
		}
		if _, err := domain.DecideTimeouts(stale, c.set, " "); err == nil {
			t.Error("set without a reason")
		} else {
			refusal(t, err, "reason_missing")
		}
		_, err = domain.DecideTimeouts(s, c.set, "again")
		refusal(t, err, "no_change")
	}
	if s.Timeouts.Download(time.Hour) != time.Second || s.Timeouts.Processing(time.Hour) != setting.MaxTimeout {
		t.Errorf("%+v", s.Timeouts)
	}
	for _, bad := range []domain.Timeouts{{DownloadSeconds: -1}, {ProcessingSeconds: 604801}} {
		_, err := domain.DecideTimeouts(s, bad, "why")
		refusal(t, err, "bad_limits")
	}
	_, err := domain.DecideTimeouts(domain.Setting{Kind: domain.SettingTimeouts, Name: "maps"}, domain.Timeouts{DownloadSeconds: 1}, "why")
	refusal(t, err, "bad_name")
}

func TestHoldNames(t *testing.T) {
	t.Parallel()
	for kind, names := range map[domain.SettingKind]map[string]bool{
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

// TestProfileSettings: each change of a profile is one event with version and SHA-256 before and
// after, needs a reason, and one that changes nothing is refused.
func TestProfileSettings(t *testing.T) {
	t.Parallel()
	is := func(digits string) *domain.Profile {
		sum := strings.Repeat(digits, 32)
		return &domain.Profile{Version: sum[:12], SHA256: sum}
	}
	s := domain.Setting{Kind: domain.SettingProfile, Name: "maps"}
	for i, to := range []*domain.Profile{is("0a"), is("0b"), nil, is("0a")} {
		dec, err := domain.DecideSetting(s, domain.SettingValue{Profile: to}, "larger maps")
		if err != nil {
			t.Fatal(err)
		}
		e := recorded(dec.Events[0])
		d := e.Data.(*domain.SettingChanged) //nolint:forcetypeassert // all changes are
		if e.Version != int64(i+1) || e.Aggregate.String() != "setting/profile:maps" || d.Why != "larger maps" || !reflect.DeepEqual(d.Previous, s.Value()) || (d.To == "set") != (to != nil) {
			t.Errorf("%d: %+v %+v", i, e, d)
		}
		if s, err = domain.EvolveSetting(s, e); err != nil || !reflect.DeepEqual(s.Profile, to) {
			t.Fatalf("%+v, %v", s, err)
		}
		if _, err := domain.DecideSetting(s, domain.SettingValue{Profile: to}, "again"); err == nil {
			t.Error("a change that changes nothing is decided")
		} else {
			refusal(t, err, domain.CodeNoChange)
		}
	}
	_, err := domain.DecideSetting(s, domain.SettingValue{Profile: is("0c")}, " ")
	refusal(t, err, domain.CodeReasonMissing)
	_, err = domain.DecideSetting(s, domain.SettingValue{Profile: &domain.Profile{Version: "x"}}, "why")
	refusal(t, err, domain.CodeBadLimits)
	for name, to := range map[string]*domain.Profile{"Maps": is("0c"), "a/b": is("0c"), "": nil} {
		_, err := domain.DecideSetting(domain.Setting{Kind: domain.SettingProfile, Name: name}, domain.SettingValue{Profile: to}, "why")
		refusal(t, err, domain.CodeBadName)
	}
}

// TestDirectorySettings: datasets and discoveries are set as a whole, with a reason, and what is
// wrong with them is refused.
func TestDirectorySettings(t *testing.T) {
	t.Parallel()
	nights := domain.SettingValue{Dataset: &domain.Dataset{Collection: "maps", Profile: "maps"}}
	poll := domain.SettingValue{Discovery: &domain.Discovery{URL: "https://data.example.org/night/", Dataset: "nights", EverySeconds: 300}}
	for kind, to := range map[domain.SettingKind]domain.SettingValue{domain.SettingDataset: nights, domain.SettingDiscovery: poll} {
		s := domain.Setting{Kind: kind, Name: "nights"}
		dec, err := domain.DecideSetting(s, to, "they begin")
		if err != nil {
			t.Fatal(err)
		}
		e := recorded(dec.Events[0])
		if s, err = domain.EvolveSetting(s, e); err != nil || !reflect.DeepEqual(s.SettingValue, to) || e.Aggregate.ID != string(kind)+":nights" || s.Status() != "set" {
			t.Errorf("%+v, %v", s, err)
		}
		_, err = domain.DecideSetting(s, to, "again")
		refusal(t, err, domain.CodeNoChange)
		_, err = domain.DecideSetting(s, domain.SettingValue{}, "")
		refusal(t, err, domain.CodeReasonMissing)
	}
	_, err := domain.DecideSetting(domain.Setting{Kind: domain.SettingDiscovery, Name: "nights"}, domain.SettingValue{Discovery: &domain.Discovery{}}, "why")
	refusal(t, err, domain.CodeBadLimits)
	_, err = domain.DecideSetting(domain.Setting{Kind: domain.SettingDataset, Name: "a:b"}, nights, "why")
	refusal(t, err, domain.CodeBadName)
	_, err = domain.DecideSetting(domain.Setting{Kind: domain.HoldCollection, Name: "maps"}, domain.SettingValue{}, "why")
	refusal(t, err, domain.CodeBadName)
}
