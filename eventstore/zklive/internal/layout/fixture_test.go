package layout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

const (
	root = layout.Root("/r")
	bid  = domain.BatchID("bid0000000001")
	jid  = domain.JobID("jid0000000002")
)

// The tokens and versions that the changes of tests rest on.
const (
	token      eventstore.Token = 7
	batchToken eventstore.Token = 3
	holds                       = 4
)

// jobIn returns a job in a state, with all that it has there.
func jobIn(state, last domain.JobState) domain.Job {
	j := domain.Job{ID: jid, State: state, LastSuccessful: last, Priority: 5,
		Configuration: domain.Configuration{BatchID: bid, ProfileName: "maps"}}
	if state != domain.JobNone {
		j.Version = 3
	}
	return j
}

// jobChange decides a command and returns the change that it leads to, and its row.
func jobChange(t *testing.T, from domain.Job, cmd domain.JobCommand, f domain.Facts) (eventstore.Change, string) {
	t.Helper()
	dec, err := domain.DecideJob(from, cmd, f)
	if err != nil {
		t.Fatal(err)
	}
	to, err := domain.EvolveJob(from, domain.Recorded{Event: dec.Events[0], CommandID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	return eventstore.Change{Job: &eventstore.Transition[domain.Job]{From: from, To: to}, Token: token,
		Require: dec.Require, BatchToken: batchToken, HoldsVersion: holds}, dec.Row
}

// batchChange is the same for a batch.
func batchChange(t *testing.T, from domain.Batch, cmd domain.BatchCommand, f domain.Facts) (eventstore.Change, string) {
	t.Helper()
	dec, err := domain.DecideBatch(from, cmd, f)
	if err != nil {
		t.Fatal(err)
	}
	to, err := domain.EvolveBatch(from, domain.Recorded{Event: dec.Events[0], CommandID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	return eventstore.Change{Batch: &eventstore.Transition[domain.Batch]{From: from, To: to}, Token: token,
		Require: dec.Require, BatchToken: batchToken, HoldsVersion: holds}, dec.Row
}

// claimed puts a change under the claim of its aggregate, which ends with it.
func claimed(c eventstore.Change) eventstore.Change {
	c.Claim = &eventstore.Claim{Worker: "w", Aggregate: c.Aggregate()}
	return c
}

// short writes operations as the tables of tests have them, one a line: a version
// that is asked for after @, and ids without their zeros.
func short(ops layout.Ops) string {
	var b strings.Builder
	for _, op := range ops {
		name := map[layout.Kind]string{layout.Check: "check", layout.Create: "create", layout.CreateEphemeral: "lock",
			layout.CreateSequential: "append", layout.Set: "set", layout.Delete: "delete"}[op.Kind]
		fmt.Fprintf(&b, "%s %s", name, strings.TrimPrefix(op.Path, string(root)))
		if op.Version != layout.Any && (op.Kind == layout.Check || op.Kind == layout.Set || op.Kind == layout.Delete) {
			fmt.Fprintf(&b, " @%d", op.Version)
		}
		b.WriteByte('\n')
	}
	return strings.NewReplacer(string(bid), "B", string(jid), "J").Replace(b.String())
}

// lines removes the indentation of an expectation.
func lines(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// tree is the persistent part of a ZooKeeper tree: path → data.
type tree map[string]string

func treeOf(nodes []layout.Node) tree {
	w := tree{}
	for _, n := range nodes {
		w[n.Path] = string(n.Data())
	}
	return w
}

// apply does to the tree what ZooKeeper does for operations, except versions.
func (w tree) apply(ops layout.Ops) error {
	for i, op := range ops {
		_, there := w[op.Path]
		if create := op.Kind == layout.Create || op.Kind == layout.CreateEphemeral; create == there {
			return fmt.Errorf("operation %d: %v %s: there: %v", i, op.Kind, op.Path, there)
		}
		switch op.Kind {
		case layout.Create, layout.CreateEphemeral:
			parent := op.Path[:strings.LastIndex(op.Path, "/")]
			if _, there := w[parent]; !there {
				return fmt.Errorf("operation %d: %s has no parent", i, op.Path)
			}
			w[op.Path] = string(op.Data)
		case layout.Set:
			w[op.Path] = string(op.Data)
		case layout.Delete:
			for path := range w {
				if strings.HasPrefix(path, op.Path+"/") {
					return fmt.Errorf("operation %d: %s has children, such as %s", i, op.Path, path)
				}
			}
			delete(w, op.Path)
		}
	}
	return nil
}

// dirs adds the directories that stand around the nodes of an aggregate.
func (w tree) dirs() tree {
	paths := append(slices.Concat(root.Dirs(), root.ObjectDirs()), root.Batch(bid), root.BatchStatus(bid), root.States(bid), root.Worker("w"))
	for _, sub := range domain.Subs {
		paths = append(paths, root.Sub(bid, sub))
	}
	for _, path := range paths {
		if _, there := w[path]; !there {
			w[path] = ""
		}
	}
	return w
}

// without returns the tree without the data of counters, and without some nodes.
func (w tree) without(paths ...string) tree {
	out := tree{}
	for path, data := range w {
		if strings.HasSuffix(path, "/claims") {
			data = ""
		}
		if !slices.Contains(paths, path) {
			out[path] = data
		}
	}
	return out
}
