package domain_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// A repair moves the version and nothing else.
func TestRepairsLeaveTheState(t *testing.T) {
	t.Parallel()
	repaired := make([]domain.Repaired, 60)
	for i := range repaired {
		repaired[i] = domain.Repaired{Code: "node_missing", Where: "/jobs/x", Found: strings.Repeat("é", 1000)}
	}
	why := domain.Reason{Class: domain.ClassSystem, Code: "x", Message: "it failed"}
	j := jobIn(domain.JobFailed)
	j.Reason = &why
	dec, err := domain.DecideJob(j, domain.RepairJob{Repaired: repaired}, domain.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	data, ok := dec.Events[0].Data.(*domain.JobRepaired)
	if !ok || len(data.Repaired) != 50 || data.More != 10 || len([]rune(data.Repaired[0].Found)) != 256 || len(repaired[0].Found) != 2000 {
		t.Fatalf("%+v", dec.Events[0].Data)
	}
	after, err := domain.EvolveJob(j, recorded(dec.Events[0]))
	want := j
	want.Version, want.Modified, want.CommandID = after.Version, after.Modified, after.CommandID
	if err != nil || after.Version != j.Version+1 || !reflect.DeepEqual(after, want) {
		t.Errorf("%v: %+v, want %+v", err, after, want)
	}
	b := batchIn(domain.BatchFailed)
	b.Reason = &why
	dec, err = domain.DecideBatch(b, domain.RepairBatch{Repaired: repaired[:1]}, domain.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	if after, err := domain.EvolveBatch(b, recorded(dec.Events[0])); err != nil || after.Version != b.Version+1 || after.State != b.State || after.Reason != b.Reason {
		t.Errorf("%v: %+v", err, after)
	}
	_, err = domain.DecideJob(domain.Job{ID: theJob}, domain.RepairJob{}, domain.Facts{})
	refusal(t, err, domain.CodeIllegal)
	_, err = domain.DecideBatch(domain.Batch{ID: theBatch}, domain.RepairBatch{}, domain.Facts{})
	refusal(t, err, domain.CodeIllegal)
}

// Maintenance of a setting leaves its hold; the audit setting begins with it.
func TestSettingsAreMaintained(t *testing.T) {
	t.Parallel()
	s := domain.Setting{Kind: domain.HoldCollection, Name: "maps", Version: 3, SettingValue: domain.SettingValue{Hold: &onHold}}
	e := recorded(domain.DecideRepair(s, []domain.Repaired{{Code: "hold_missing", Where: "/locks/collections/maps"}}).Events[0])
	after, err := domain.EvolveSetting(s, e)
	if err != nil || after.Version != 4 || after.Hold == nil || after.Name != "maps" {
		t.Errorf("%v: %+v", err, after)
	}
	var unexpected *domain.Unexpected
	if _, err := domain.EvolveSetting(after, e); !errors.As(err, &unexpected) {
		t.Errorf("the same event twice: %v", err)
	}
	other := s
	other.Name = "prints"
	if _, err := domain.EvolveSetting(other, e); !errors.As(err, &unexpected) {
		t.Errorf("another setting's event: %v", err)
	}
	e = recorded(domain.DecideRestored(domain.Audit(0), domain.RestoredZooKeeper, 2, 99).Events[0])
	if after, err = domain.EvolveSetting(domain.Audit(0), e); err != nil || after != domain.Audit(1) || e.Aggregate.String() != "setting/audit:maintenance" {
		t.Errorf("%v: %+v", err, after)
	}
}
