package views

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/domain/fair"
)

// A board says of each user where they stand, and leaves empty what does not apply.
func TestBoard(t *testing.T) {
	t.Parallel()
	grabs, none, two, one, thirty := 6, 0, 2, int64(1), 30.2
	nothing := int64(0)
	var resting queues.Board
	if err := json.Unmarshal([]byte(`{"resting": [{"batch": "bid0000000003", "user": "dora"}]}`), &resting); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		board queues.Board
		want  string
	}{
		{queues.Board{Queue: "metadata", Waiting: 9, Running: 4, Parked: &one, Grabs: &grabs, Seconds: 90, Users: []queues.OfUser{
			{User: "ana", Waiting: 3, Running: 1, Limit: 5, Parked: &nothing, Position: 1, Before: &none, Expected: &thirty},
			{User: "ben\x1b", Waiting: 4, Running: 0, Limit: 5, Parked: &one, Position: 2, NextLap: true, Before: &two},
			{User: "carl", Waiting: 2, Running: 2, Limit: 2, Parked: &nothing, Position: 3, Why: fair.ObstacleConcurrency},
			{User: "dora", Running: 1, Limit: 5, Parked: &nothing, Why: fair.ObstacleEmpty},
		}, Synchronous: []queues.Direct{{Batch: "bid0000000007", User: "eve"}}, Pool: 5,
			Resting: resting.Resting}, `
metadata: 9 waiting, 4 running, 1 parked; 6 grabbed in 1m30s

position  user  waiting  running  parked  turn               expected  not served because
1         ana         3  1 of 5   0       next               in 30s
2         ben�        4  0 of 5   1       next lap, after 2  unknown
3         carl        2  2 of 2   0       this lap           unknown   at the limit
          dora        0  1 of 5   0

1 synchronous deposits run, of 5 that may
batch          user
bid0000000007  eve

bid0000000003 of dora counts as running, and all of its open jobs are held or wait for space: ` + "`accession queue free bid0000000003 --reason WHY`" + ` frees its place
`},
		{queues.Board{Queue: "query", Waiting: 1, Stopped: "suspended", Unknown: "PostgreSQL does not answer", Users: []queues.OfUser{
			{User: "ana", Waiting: 1, Limit: 5, Position: 1, Why: fair.ObstacleSuspended}}}, `
query: 1 waiting, 0 running, ? parked
nothing is grabbed: suspended

position  user  waiting  running  parked  turn      expected  not served because
       1  ana         1  0 of 5   ?       this lap  unknown   suspended

expected times, parked deposits and resting batches are unknown: PostgreSQL does not answer
`},
		{queues.Board{Queue: "query", Parked: &nothing}, `
query: 0 waiting, 0 running, 0 parked

no deposits
`},
	} {
		var b strings.Builder
		Board(&b, c.board)
		if diff := cmp.Diff(c.want, "\n"+b.String()); diff != "" {
			t.Error(diff)
		}
	}
}
