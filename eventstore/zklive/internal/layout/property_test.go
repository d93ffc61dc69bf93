package layout_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

func drawJob(t *rapid.T, label string) domain.Job {
	j := jobIn(rapid.SampledFrom(domain.JobStates).Draw(t, label+" state"), rapid.SampledFrom([]domain.JobState{"", "provisioning"}).Draw(t, label+" last"))
	j.Priority = rapid.IntRange(0, 99).Draw(t, label+" priority")
	j.SpaceNeeded = rapid.Int64Range(0, 3).Draw(t, label+" space")
	j.Identifiers.Primary = rapid.SampledFrom([]string{"", "ark:/1"}).Draw(t, label+" primary")
	j.Identifiers.LocalID = rapid.SampledFrom([][]string{nil, {"a"}, {"a", "b"}}).Draw(t, label+" local")
	j.Identifiers.ObjectKeys = rapid.SampledFrom([][]domain.ObjectKey{nil, {keyA}, {keyB}, {keyA, keyB}}).Draw(t, label+" keys")
	j.Metadata.ErcWhat = rapid.SampledFrom([]string{"", "Tides"}).Draw(t, label+" what")
	j.Configuration.ProfileName = rapid.SampledFrom([]string{"maps", "plans"}).Draw(t, label+" profile")
	j.Cleaned = j.State == domain.JobCompleted && rapid.Bool().Draw(t, label+" cleaned")
	if rapid.Bool().Draw(t, label+" reason") {
		j.Reason = &domain.Reason{Class: domain.ClassWait, Code: "x", Message: "<&>"}
	}
	return j
}

// TestOperationsLeadToExpectedNodes: whatever a job was and becomes, its operations
// lead from the nodes of the one to the nodes of the other.
func TestOperationsLeadToExpectedNodes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from, to := drawJob(t, "from"), drawJob(t, "to")
		to.Version++
		switch rapid.IntRange(0, 9).Draw(t, "end") {
		case 0:
			from.State, from.Version = domain.JobNone, 0
		case 1:
			to.State = domain.JobDeleted
		}
		f := layout.Inputs{Compact: rapid.Bool().Draw(t, "compact"), CompactJobs: map[domain.JobID]bool{jid: rapid.Bool().Draw(t, "compact job")}}
		w := treeOf(root.JobNodes(from, f.CompactJobs[jid])).dirs()
		c := eventstore.Change{Job: &eventstore.Transition[domain.Job]{From: from, To: to}, Token: token}
		if err := w.apply(root.Changes([]eventstore.Change{c}, f)); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(treeOf(root.JobNodes(to, f.Compact)).dirs().without(), w.without()); d != "" {
			t.Fatalf("%s → %s (-want +got):\n%s", from.State, to.State, d)
		}
	})
}

// TestRepairLeadsToExpectedNodes: whatever was observed, a repair leads to the nodes
// that the state should have.
func TestRepairLeadsToExpectedNodes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		found, want := drawJob(t, "found"), drawJob(t, "want")
		compact := rapid.Bool().Draw(t, "compact")
		observed := root.Expected(root.JobNodes(found, rapid.Bool().Draw(t, "compact job")))
		for name := range observed {
			switch rapid.IntRange(0, 5).Draw(t, name) {
			case 0:
				if name != root.Name(root.Job(jid)) {
					delete(observed, name)
				}
			case 1:
				observed[name] = "damaged"
			}
		}
		w := tree{}.dirs()
		for name, data := range observed {
			w[root.At(name)] = data
		}
		to := want
		to.Version++
		c := eventstore.Change{Job: &eventstore.Transition[domain.Job]{From: want, To: to}, Token: token, Observed: &eventstore.Observed{Nodes: observed}}
		if err := w.apply(root.Changes([]eventstore.Change{c}, layout.Inputs{Compact: compact})); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(treeOf(root.JobNodes(to, compact)).dirs().without(root.Locks()), w.without(root.Locks())); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
	})
}
