package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
)

// A tree that was lost is drawn again with its deposit queue, node by node as it was: who waits,
// in which order, who runs, whose turn it is and how much of it is used. The next grabs are those
// that would have been.
// Shows: C10 P11
func TestRestoreOfDepositQueues(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	payload := webServer(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("x")) }))
	in.says(0, words("queue suspend metadata --reason x"))
	in.says(0, words("queue pause pending --reason x"))
	in.says(0, words("queue limit metadata ana --allocation 3 --concurrency 2 --reason x"))
	in.says(0, words("queue limit metadata ben,cleo --concurrency 0 --reason x"))
	user := map[domain.BatchID]string{}
	for n, of := range []string{"ben", "ana", "ana", "cleo", "ana", "ben", "ana", "ana"} {
		user[in.depositBy(of, fmt.Sprintf("%s/%d.txt", payload, n), domain.TypeFile)] = of
	}
	stop := in.serveInProcess().stop
	in.says(0, words("queue resume metadata --reason x"))
	in.seen(2, domain.EventBatchStarted)
	in.shown()
	stop()
	before, _, _ := in.dump()
	var at eventstore.RingState
	if in.raw().decode("/queues/metadata/ring", &at); at.Turn != 2 || at.Used != 2 || at.Cursor == 0 || len(user) != 8 {
		t.Fatalf("%d batches, the ring is %+v", len(user), at)
	}

	in = in.losesTree()
	in.says(0, words("restore zookeeper"), "8 batches")
	after, _, _ := in.dump()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the tree is another (-before +after):\n%s", diff)
	}
	in.says(0, words("queue unlimit metadata ben,cleo --reason x"))
	in.says(0, words("queue limit metadata ana --concurrency 9 --reason x"))
	in.serveInProcess()
	in.says(0, words("queue resume pending --reason x"))
	of := map[int64]string{}
	for _, r := range in.seen(len(user), domain.EventBatchGrabbed) {
		if d, ok := r.Data.(*domain.BatchGrabbed); ok && d.Rule == string(fair.RuleRoundRobin) {
			of[d.Ring.Turn] = user[r.BatchID]
		}
	}
	var order []string
	for turn := range int64(len(user)) {
		order = append(order, of[turn+1])
	}
	// The third of ana's turn, and those who come after.
	if want := []string{"ana", "ana", "ana", "cleo", "ben", "ana", "ana", "ben"}; !cmp.Equal(order, want) {
		t.Errorf("grabbed in the order %v, want %v", order, want)
	}
	in.seen(len(user), domain.EventBatchReported)
	in.agree()
}
