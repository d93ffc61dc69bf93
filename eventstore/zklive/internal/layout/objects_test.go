package layout_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

var (
	keyA = domain.ObjectKey(strings.Repeat("a0", 32))
	keyB = domain.ObjectKey(strings.Repeat("b1", 32))
)

// entryOps returns the operations on object entries that a transition leads to.
func entryOps(from, to domain.Job, f layout.Inputs) string {
	c := eventstore.Change{Job: &eventstore.Transition[domain.Job]{From: from, To: to}, Token: token}
	var ops layout.Ops
	for _, op := range root.Changes([]eventstore.Change{c}, f) {
		if strings.HasPrefix(op.Path, root.Objects()) {
			ops = append(ops, op)
		}
	}
	return strings.NewReplacer(string(keyA), "A", string(keyB), "B").Replace(short(ops))
}

// TestObjectEntriesOfEveryRow: a job has its entries from J1 on until it has completed,
// has failed or is deleted, and again after a requeue.
func TestObjectEntriesOfEveryRow(t *testing.T) {
	t.Parallel()
	const joins, leaves = "create /objects/a0/A-J\n", "delete /objects/a0/A-J\n"
	rows := map[string]string{"J1": joins, "J5": leaves, "J9": leaves, "J11": leaves, "J13": leaves, "J14": leaves, "J15": leaves,
		"J16": joins, "J17": joins, "J18": joins, "J19": joins, "J22": leaves, "J24": leaves, "J25": joins}
	for _, row := range domain.JobTransitions {
		want := rows[row.Row]
		if row.Row == "J23" && row.From.Sub() == domain.SubProcessing {
			want = leaves
		}
		from, to := jobIn(row.From, ""), jobIn(row.To, "")
		from.Identifiers.ObjectKeys, to.Identifiers.ObjectKeys = []domain.ObjectKey{keyA}, []domain.ObjectKey{keyA}
		if got := entryOps(from, to, layout.Inputs{}); got != want {
			t.Errorf("%s from %q: %q, want %q", row.Row, row.From, got, want)
		}
	}
}

// TestObjectEntryThatIsOtherwise: what is there decides where a server has refused.
func TestObjectEntryThatIsOtherwise(t *testing.T) {
	t.Parallel()
	with := func(state domain.JobState, keys ...domain.ObjectKey) domain.Job {
		j := jobIn(state, "")
		j.Identifiers.ObjectKeys = keys
		return j
	}
	a, b := root.ObjectEntry(keyA, jid), root.ObjectEntry(keyB, jid)
	for name, c := range map[string]struct {
		from, to domain.Job
		found    map[string]bool
		want     string
	}{
		"named":                   {with("processing", keyA), with("processing", keyA, keyB), nil, "create /objects/b1/B-J\n"},
		"named otherwise":         {with("processing", keyA), with("processing", keyB), nil, "delete /objects/a0/A-J\ncreate /objects/b1/B-J\n"},
		"there already":           {with("failed", keyA, keyB), with("notify", keyA, keyB), map[string]bool{a: true, b: false}, "create /objects/b1/B-J\n"},
		"gone already":            {with("notify", keyA, keyB), with("completed", keyA, keyB), map[string]bool{a: false, b: true}, "delete /objects/b1/B-J\n"},
		"of a job without a name": {with("notify"), with("completed"), nil, ""},
	} {
		if d := cmp.Diff(c.want, entryOps(c.from, c.to, layout.Inputs{NewerNodes: c.found})); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestNameOfObjectEntry: key and job can be read from the name, and from no other.
func TestNameOfObjectEntry(t *testing.T) {
	t.Parallel()
	path := root.ObjectEntry(keyA, jid)
	name, ok := strings.CutPrefix(path, root.ObjectDir(keyA)+"/")
	if key, id, parsed := layout.ParseObjectEntry(name); !ok || !parsed || key != keyA || id != jid {
		t.Errorf("%s: %s of %s (%v)", path, id, key, parsed)
	}
	for _, bad := range []string{"", "-", string(keyA), string(keyA) + "-", string(keyA) + "-jid1", string(keyA[:63]) + "-" + string(jid), strings.ToUpper(string(keyA)) + "-" + string(jid)} {
		if _, _, ok := layout.ParseObjectEntry(bad); ok {
			t.Errorf("%q is an object entry", bad)
		}
	}
}
