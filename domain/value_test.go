package domain_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain"
)

func TestTimeJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		zone := time.FixedZone("", rapid.IntRange(-14*3600, 14*3600).Draw(t, "zone"))
		want := domain.At(time.Unix(rapid.Int64Range(-62_135_596_800, 253_402_300_799).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).In(zone))
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got domain.Time
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Fatalf("%v became %s and then %v", want, data, got)
		}
		if !want.IsZero() && (len(data) != len(`"2006-01-02T15:04:05.000Z"`) || string(data) != `"`+want.String()+`"`) {
			t.Fatalf("written as %s", data)
		}
	})
	var z domain.Time
	if data, _ := json.Marshal(z); string(data) != "null" || z.String() != "" || json.Unmarshal(data, &z) != nil || !z.IsZero() {
		t.Errorf("zero is written as %s and read as %v", data, z)
	}
	if err := json.Unmarshal([]byte(`"2024-05-01T14:00:00.123456+02:00"`), &z); err != nil || z.String() != "2024-05-01T12:00:00.123Z" {
		t.Errorf("read as %v (%v)", z, err)
	}
	for _, bad := range []string{`"yesterday"`, `12`, `"2024-05-01"`, `""`} {
		if err := json.Unmarshal([]byte(bad), &z); err == nil {
			t.Errorf("%s was read as %v", bad, z)
		}
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, domain.MaxID).Draw(t, "n")
		if id, err := domain.ParseJobID(string(domain.NewJobID(n))); err != nil || id.Number() != n {
			t.Fatalf("job %d: %s, %v", n, id, err)
		}
		if id, err := domain.ParseBatchID(string(domain.NewBatchID(n))); err != nil || id.Number() != n {
			t.Fatalf("batch %d: %s, %v", n, id, err)
		}
	})
	if id := domain.NewJobID(42); id != "jid0000000042" || id.Plus(3) != "jid0000000045" {
		t.Errorf("%s, %s", id, id.Plus(3))
	}
	for _, bad := range []string{"", "jid", "jid42", "jid0000000000", "jid00000000042", "bid0000000042", "jid000000004x", "jid+000000042", " jid0000000042", "jid0000000042\n"} {
		if _, err := domain.ParseJobID(bad); err == nil || domain.JobID(bad).Number() != 0 {
			t.Errorf("job id %q: %v", bad, err)
		}
		if _, err := domain.ParseBatchID(strings.Replace(bad, "jid", "bid", 1)); err == nil && bad != "bid0000000042" {
			t.Errorf("batch id from %q is taken", bad)
		}
	}
	for _, good := range []string{"batch/bid0000000007", "job/jid0000000042", "file/ab", "setting/collection:maps"} {
		if a, err := domain.ParseAggregate(good); err != nil || a.String() != good {
			t.Errorf("%q: %v, %v", good, a, err)
		}
	}
	for _, bad := range []string{"", "job", "job/", "user/ana", "/jid0000000042"} {
		if _, err := domain.ParseAggregate(bad); err == nil {
			t.Errorf("aggregate %q is taken", bad)
		}
	}
}

func FuzzParseEntryName(f *testing.F) {
	for _, s := range []string{"05-jid0000000042", "99-jid9999999999", "5-jid0000000042", "-5-jid0000000042", "05-bid0000000042", "05-jid", "", "100-jid0000000042"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		priority, id, err := domain.ParseEntryName(name)
		if err == nil && (domain.EntryName(priority, id) != name || id.Number() == 0 || priority < domain.PriorityFirst || priority > domain.PriorityLast) {
			t.Errorf("%q was read as %d %s", name, priority, id)
		}
	})
}

// TestEntryOrder: the order of names is the order of work.
func TestEntryOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) (int, domain.JobID, string) {
			p, id := rapid.IntRange(domain.PriorityFirst, domain.PriorityLast).Draw(t, label), domain.NewJobID(rapid.Int64Range(1, domain.MaxID).Draw(t, label))
			name := domain.EntryName(p, id)
			if gotP, gotID, err := domain.ParseEntryName(name); err != nil || gotP != p || gotID != id {
				t.Fatalf("%q was read as %d %s (%v)", name, gotP, gotID, err)
			}
			return p, id, name
		}
		p1, id1, name1 := draw("first")
		p2, id2, name2 := draw("second")
		if first := p1 < p2 || p1 == p2 && id1 < id2; first != (name1 < name2) {
			t.Fatalf("%s and %s", name1, name2)
		}
	})
}

func TestReport(t *testing.T) {
	t.Parallel()
	ids := func(first, n int) []domain.JobID {
		out := make([]domain.JobID, n)
		for i := range out {
			out[i] = domain.NewJobID(int64(first + i))
		}
		return out
	}
	empty, _ := json.Marshal(domain.NewReport(nil, nil, nil, noon))
	if want := `{"last_modified":"2024-05-01T12:00:00.000Z","failed_jobs":[],"successful_jobs":[],"failed":0,"successful":0}`; string(empty) != want {
		t.Errorf("an empty report is %s", empty)
	}
	first := domain.NewReport(ids(1, 2), ids(3, 3), nil, noon)
	second := domain.NewReport(ids(1, 4), ids(5, 1), &first, noon)
	if got := fmt.Sprint(second.NewlySuccessfulJobs, second.UnresolvedJobs, second.Successful, second.Failed); got != "[jid0000000003 jid0000000004] [jid0000000005] 4 1" {
		t.Errorf("the second report: %s", got)
	}
	if first.NewlySuccessfulJobs != nil || first.UnresolvedJobs != nil || first.TooLong() {
		t.Errorf("the first report: %+v", first)
	}
}

// TestReportCut: however many jobs, a cut report's event stays under 32 KiB and
// its numbers stay whole.
func TestReportCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := func(label string) []domain.JobID {
			n := rapid.IntRange(0, 3000).Draw(t, label)
			out := make([]domain.JobID, n)
			for i := range out {
				out[i] = domain.NewJobID(domain.MaxID - int64(n-i))
			}
			return out
		}
		prev := domain.NewReport(list("before"), nil, nil, noon)
		whole := domain.NewReport(list("successful"), list("failed"), &prev, noon)
		cut := whole.Cut("file:///objects/reports/bid0000000007.json", strings.Repeat("a", 64))
		data, err := json.Marshal(&domain.BatchReport{BatchMove: domain.BatchMove{From: domain.BatchReporting, To: domain.BatchFailed}, Report: cut})
		if err != nil || len(data) > 32<<10 {
			t.Fatalf("%d bytes (%v)", len(data), err)
		}
		if !cut.Truncated || cut.TooLong() || cut.Failed != whole.Failed || cut.Successful != whole.Successful ||
			len(whole.SuccessfulJobs) != whole.Successful || len(whole.FailedJobs) != whole.Failed {
			t.Fatalf("cut to %d and %d of %d and %d", len(cut.FailedJobs), len(cut.SuccessfulJobs), cut.Failed, cut.Successful)
		}
		if want := min(len(whole.FailedJobs), domain.ReportListLimit); len(cut.FailedJobs) != want {
			t.Fatalf("%d failed jobs are named, want %d", len(cut.FailedJobs), want)
		}
	})
}

// TestRegistry: every event that a table names is registered, for its kind.
func TestRegistry(t *testing.T) {
	t.Parallel()
	seen := map[domain.EventType]bool{}
	for _, d := range domain.Registry {
		if seen[d.Type] || d.Doc == "" || !strings.HasPrefix(string(d.Type), string(d.Kind)+".") {
			t.Errorf("%s: registered twice, without a sentence, or for the wrong kind", d.Type)
		}
		seen[d.Type] = true
		_, batch := domain.MoveOfBatch(d.New())
		_, job := domain.MoveOfJob(d.New())
		if batch != (d.Kind == domain.KindBatch) || job != (d.Kind == domain.KindJob) {
			t.Errorf("%s: its data belongs to another kind", d.Type)
		}
	}
	for _, r := range domain.BatchTransitions {
		if d, ok := domain.Lookup(r.Event); !ok || d.Kind != domain.KindBatch {
			t.Errorf("%s: %s is not registered", r.Row, r.Event)
		}
	}
	for _, r := range domain.JobTransitions {
		if d, ok := domain.Lookup(r.Event); !ok || d.Kind != domain.KindJob {
			t.Errorf("%s: %s is not registered", r.Row, r.Event)
		}
	}
	if _, ok := domain.Lookup("job.flew"); ok {
		t.Error("an unknown type is found")
	}
}
