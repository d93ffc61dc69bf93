package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
)

// A tree that was lost is drawn again with its deposit queues, node by node as they were: who waits,
// in which order, who runs, whose turn it is and how much of it is used. The next grabs are those
// that would have been, and every query is answered.
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
	in.asks("ben")
	stop := in.serveInProcess().stop
	in.seen(1, domain.EventQueryAnswered)
	in.says(0, words("queue suspend query --reason x"))
	in.asks("ana", "ben", "ana", "ben")
	const parked = "qid0000000005"
	in.says(0, words("query park "+parked+" --reason x"))
	in.says(0, words("queue resume metadata --reason x"))
	in.seen(2, domain.EventBatchStarted)
	in.shown()
	stop()
	before, _, _ := in.dump()
	maps.DeleteFunc(before, func(name, _ string) bool { return strings.HasPrefix(name, "/queries/qid0000000001") }) // it has ended
	var at eventstore.RingState
	if in.raw().decode("/queues/metadata/ring", &at); at.Turn != 2 || at.Used != 2 || at.Cursor == 0 || len(user) != 8 {
		t.Fatalf("%d batches, the ring is %+v", len(user), at)
	}
	if in.raw().decode("/queues/query/ring", &at); at.Turn != 2 || at.NextSlot != 4 {
		t.Fatalf("one query was grabbed and one parked, the ring is %+v", at)
	}

	in = in.losesTree()
	in.says(0, words("restore zookeeper"), "8 batches")
	after, _, _ := in.dump()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Fatalf("the tree is another (-before +after):\n%s", diff)
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
	in.says(0, words("queue resume query --reason x"))
	in.seen(4, domain.EventQueryAnswered)
	in.says(0, words("query unpark "+parked+" --reason x"), "ben: 1 unparked")
	answers := map[string]int{}
	for _, r := range in.seen(5, domain.EventQueryAnswered) {
		answers[r.Aggregate.ID]++
	}
	if len(answers) != 5 {
		t.Errorf("answers to queries: %v", answers)
	}
	in.agree()
}
