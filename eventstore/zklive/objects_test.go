package zklive_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

// A job goes on though its object entry is not there, or is there already: a program
// from before these entries moved it.
func TestObjectEntriesThatAreOtherwise(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	k := storetest.NewKit(t, w.store)
	conn := rawConn(t)
	_, jobs := k.Started(5, 5)
	name := domain.IdentifyJob{Identifiers: domain.Identifiers{Primary: "ark:/1", ObjectKeys: []domain.ObjectKey{theObject}}}
	node := func(id domain.JobID) string { return w.root + objectEntry(string(id)) }
	there := func(id domain.JobID, want bool) {
		t.Helper()
		if got, _, err := conn.Exists(node(id)); err != nil || got != want {
			t.Errorf("the entry of %s: %v (%v), want %v", id, got, err, want)
		}
	}
	for _, id := range jobs {
		k.Walk(id, domain.JobProcessing)
	}
	if _, err := conn.Create(node(jobs[0]), nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	k.DoJob(jobs[0], name, storetest.Operator())
	there(jobs[0], true)
	k.DoJob(jobs[1], name, storetest.Operator())
	if err := conn.Delete(node(jobs[1]), -1); err != nil {
		t.Fatal(err)
	}
	for _, id := range jobs {
		k.Walk(id, domain.JobCompleted)
		there(id, false)
	}
}
