package standing

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) domain.Time { return domain.At(noon.Add(-d)) }

// TestLines: one for each thing that stands still, with a command.
func TestLines(t *testing.T) {
	t.Parallel()
	f := Situation{
		Pauses:     []Hold{{Name: "ingest", Hold: domain.Hold{By: domain.ByUnknown, When: ago(time.Hour)}, Unreadable: true}, {Name: "notify", Hold: domain.Hold{By: "ana", When: ago(time.Hour), Why: "receiver down"}}},
		Holds:      []Hold{{Name: "maps", Hold: domain.Hold{By: "ben", When: ago(time.Hour)}}},
		Unserved:   []Unserved{{domain.KindJob, "downloading", domain.DaemonJobDownloading}},
		Unreadable: []Unreadable{{domain.KindJob, "jid0000000004", "no status"}},
		Oldest: []Oldest{
			{Kind: domain.KindBatch, State: "pending", ID: "bid0000000001", Since: ago(WaitsLong + time.Second)},
			{Kind: domain.KindJob, State: "pending", ID: "jid0000000001", Since: ago(WaitsLong)}, // not longer
			{Kind: domain.KindJob, State: "held", ID: "jid0000000002", Since: ago(90 * WaitsLong)},
			{Kind: domain.KindJob, State: "notify", ID: "jid0000000003", Since: ago(2 * WaitsLong)}},
		Overdue: 3, Poison: 2,
		Types: &Types{Stream: "T", Events: 9, Seconds: TypesLag.Seconds() + 1},
		Audit: &Audit{Complete: ago(AuditLate + time.Hour), Findings: 5, Corrupt: 4},
		Heap:  &Heap{Setting: 2 << 30, Server: "zk1:2181", Bytes: 900 << 20},
	}
	want := []Line{
		{"paused", "all queues are paused since 2026-03-04T11:00:00.000Z; its node cannot be read", "accession queue resume ingest"},
		{"paused", "queue notify is paused since 2026-03-04T11:00:00.000Z by ana: receiver down", "accession queue resume notify"},
		{"held", "collection maps is on hold since 2026-03-04T11:00:00.000Z by ben", "accession collection release maps"},
		{"unserved", "no process works on jobs in state downloading", "accession serve --roles daemons --set workers=job-downloading=1"},
		{"unreadable", "job jid0000000004 cannot be read and is set aside", "accession verify"},
		{"waits_long", "batch bid0000000001 waits in state pending since 2026-03-03T11:59:59.000Z", "accession batch show bid0000000001"},
		{"waits_long", "job jid0000000003 waits in state notify since 2026-03-02T12:00:00.000Z", "accession job show jid0000000003"},
		{"overdue", "3 attempts at files are overdue", "accession sweep"},
		{"poison", "2 events are missing in the tables", "accession poison ls"},
		{"types_behind", "the stream by types, T, is 9 events behind", "accession serve --roles types"},
		{"corrupt", "4 stored files are corrupt", "accession verify --deep"},
		{"audit_findings", "the audit found 5 differences", "accession verify"},
		{"audit_late", "no pass of the auditor was complete since 2026-02-02T11:00:00.000Z", "accession serve --roles auditor"},
		{"heap_small", "ZooKeeper zk1:2181 has a heap of 900 MiB and zookeeper_heap says 2048 MiB: deposits are refused too late", "accession config print"},
	}
	if diff := cmp.Diff(want, Lines(f, noon)); diff != "" {
		t.Error(diff)
	}
	if got := Lines(Situation{Heap: &Heap{Setting: 2 << 30, Bytes: 1900 << 20}}, noon); len(got) != 0 {
		t.Errorf("of a heap of which a part is kept free: %+v", got)
	}
	if got := Lines(Situation{}, noon); got == nil || len(got) != 0 {
		t.Errorf("of nothing: %+v", got)
	}
	if got := Lines(Situation{Unserved: NotServed(eventstore.Overview{})}, noon); len(got) != 1 || got[0].Remedy != "accession serve" {
		t.Errorf("without any process: %+v", got)
	}
	broken := Lines(Situation{Types: &Types{Stream: "T", Error: "another log"}}, noon)
	if len(broken) != 1 || !strings.Contains(broken[0].What, "another log") {
		t.Errorf("a stream that cannot be compared: %+v", broken)
	}
}

// TestAlertsOfLines: what stands still has an alert, which fires after the same time.
func TestAlertsOfLines(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../deploy/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]string{}
	for rule := range strings.SplitSeq(string(text), "- alert: ") {
		name, rest, _ := strings.Cut(rule, "\n")
		rules[name] = rest
	}
	limit := regexp.MustCompile(`expr: .* > (\d+)\n`)
	for code, alerts := range map[string]map[string]time.Duration{
		CodePaused: {"AccessionHeld": 24 * time.Hour}, CodeHeld: {"AccessionHeld": 24 * time.Hour},
		CodeUnserved: {"AccessionStateUnserved": 0}, CodeUnreadable: {"AccessionUnreadable": 0},
		CodeWaits:   {"AccessionQueueStands": WaitsLong, "AccessionBatchStands": WaitsLong},
		CodeOverdue: {"AccessionFilesOverdue": 0}, CodePoison: {"AccessionPoison": 0}, CodeTypes: {"AccessionTypesLag": TypesLag},
		CodeCorrupt: {"AccessionObjectsCorrupt": 0}, CodeFindings: {"AccessionAuditFindings": 0}, CodeAuditLate: {"AccessionAuditLate": AuditLate, "AccessionAuditNever": 0},
	} {
		for name, after := range alerts {
			m := limit.FindStringSubmatch(rules[name])
			if len(m) != 2 || m[1] != strconv.Itoa(int(after.Seconds())) {
				t.Errorf("%s: the alert %s is not there, or does not fire above %v: %q", code, name, after, rules[name])
			}
		}
	}
}
