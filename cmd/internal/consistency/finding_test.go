package consistency

import (
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

func TestNullEmptyAndMissingAreTheSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ data, want string }{
		{`{"b":2,"a":1}`, `{"a":1,"b":2}`},
		{`{"a":null,"b":"","c":[],"d":{},"e":{"f":null},"g":0,"h":false}`, `{"g":0,"h":false}`},
		{`[1, 2]`, `[1,2]`},
		{`{}`, `null`},
		{`12345678901234567890`, `12345678901234567890`},
		{`no JSON`, `no JSON`},
		{`{} {}`, `{} {}`},
		{``, ``},
	} {
		if got := normal(c.data); got != c.want {
			t.Errorf("normal(%s) is %s, want %s", c.data, got, c.want)
		}
	}
}

func TestNarrowKeepsWhatDiffers(t *testing.T) {
	t.Parallel()
	a, b := narrow(`{"same":{"x":[1]},"one":1,"both":2}`, `{"same":{"x":[1]},"both":3}`)
	if a != `{"both":2,"one":1}` || b != `{"both":3}` {
		t.Errorf("%s, %s", a, b)
	}
	if a, b := narrow("text", `{}`); a != "text" || b != `{}` {
		t.Errorf("%s, %s", a, b)
	}
}

func TestNodesAreCompared(t *testing.T) {
	t.Parallel()
	const id = "jid0000000001"
	job := domain.JobID(id).Aggregate()
	full := eventstore.Nodes{
		"/jobs/" + id + "/status": `{"version":3}`, "/jobs/states/pending/05-" + id: "", "/batches/bid0000000001/states/batch-processing/" + id: "",
		"/jobs/" + id + "/priority": "5", "/space/" + id: "9",
	}
	change := func(do func(eventstore.Nodes)) eventstore.Nodes {
		nodes := eventstore.Nodes{}
		for name, data := range full {
			nodes[name] = data
		}
		do(nodes)
		return nodes
	}
	for _, c := range []struct {
		name   string
		got    eventstore.Nodes
		behind bool
		want   []domain.Code
	}{
		{"the same", change(func(eventstore.Nodes) {}), false, nil},
		{"the same in other words", change(func(n eventstore.Nodes) { n["/jobs/"+id+"/status"] = `{"version": 3, "reason": null}` }), false, nil},
		{"another status", change(func(n eventstore.Nodes) { n["/jobs/"+id+"/status"] = "{" }), false, []domain.Code{StatusWrong}},
		{"no status", change(func(n eventstore.Nodes) { delete(n, "/jobs/"+id+"/status") }), false, []domain.Code{StatusMissing}},
		{"no entry", change(func(n eventstore.Nodes) { delete(n, "/jobs/states/pending/05-"+id) }), false, []domain.Code{QueueEntryMissing}},
		{"an entry too many", change(func(n eventstore.Nodes) { n["/jobs/states/failed/05-"+id] = "" }), false, []domain.Code{QueueEntryWrong}},
		{"an entry without a status", change(func(n eventstore.Nodes) { n["/jobs/states/failed/05-"+id] = ""; delete(n, "/jobs/"+id+"/status") }), false, []domain.Code{StatusMissing, QueueEntryOrphan}},
		{"no reference", change(func(n eventstore.Nodes) { delete(n, "/batches/bid0000000001/states/batch-processing/"+id) }), false, []domain.Code{ReferenceMissing}},
		{"a reference too many", change(func(n eventstore.Nodes) { n["/batches/bid0000000001/states/batch-failed/"+id] = "" }), false, []domain.Code{ReferenceWrong}},
		{"another promise", change(func(n eventstore.Nodes) { n["/space/"+id] = "1" }), false, []domain.Code{PromiseWrong}},
		{"another priority", change(func(n eventstore.Nodes) { n["/jobs/"+id+"/priority"] = "6" }), false, []domain.Code{NodeWrong}},
		{"another priority, behind the log", change(func(n eventstore.Nodes) { n["/jobs/"+id+"/priority"] = "6" }), true, []domain.Code{TreeBehind}},
		{"a node too many", change(func(n eventstore.Nodes) { n["/jobs/"+id+"/x"] = "" }), false, []domain.Code{NodeUnknown}},
		{"nothing at all", eventstore.Nodes{}, false, []domain.Code{JobMissing}},
	} {
		found := compareNodes(job, full, c.got, c.behind)
		if len(found) != len(c.want) {
			t.Errorf("%s: %v, want %v", c.name, found, c.want)
			continue
		}
		for i, f := range found {
			if f.Code != c.want[i] || f.Subject != job.String() || f.Severity == "" || f.Remedy == "" {
				t.Errorf("%s: %+v, want %s", c.name, f, c.want[i])
			}
		}
	}
}

func TestNothingIsRepairedWhileEventsAreUnsent(t *testing.T) {
	t.Parallel()
	job := domain.JobID("jid0000000001").Aggregate()
	found := []Finding{finding(StatusWrong, job.String(), "/x", "a", "b"), finding(NodeMissing, job.String(), "/y", "a", "b")}
	if got := tooEarly(job, found, 0); len(got) != 2 {
		t.Errorf("%v", got)
	}
	if got := tooEarly(job, found, 1); len(got) != 1 || got[0].Code != DamagedUnsent || got[0].Severity != Person {
		t.Errorf("%v", got)
	}
	if got := tooEarly(job, nil, 1); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// Every code of a finding stands in the table once.
func TestEveryCodeHasItsRow(t *testing.T) {
	t.Parallel()
	if len(findingCodes) != len(FindingCodes) {
		t.Errorf("%d codes in %d rows", len(findingCodes), len(FindingCodes))
	}
	for _, f := range FindingCodes {
		if f.In == "" || f.Severity == "" || f.Means == "" || f.Remedy == "" {
			t.Errorf("%+v", f)
		}
	}
	for code, want := range map[domain.Code]string{StatusWrong: "yes", NotInLog: "no", StoredUnexplained: "no", StoredCorrupt: "from a replica", ManifestMissing: "from a replica"} {
		if got := repairable(findingCodes[code]); got != want {
			t.Errorf("%s is repaired: %s, want %s", code, got, want)
		}
	}
	person, repairable := finding(NotInLog, "", "", "", ""), finding(StatusWrong, "", "", "", "")
	for want, found := range map[Severity][]Finding{"": nil, Repairable: {repairable, repairable}, Person: {repairable, person, repairable}} {
		if got := (Report{Findings: found}).Worst(); got != want {
			t.Errorf("the worst of %v is %q", found, got)
		}
	}
}
