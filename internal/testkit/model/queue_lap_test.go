package model_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/internal/testkit/model"
)

// served lets a processor without criteria grab from the ring and from the model until
// both are empty, and returns the users in the order in which they were served.
func served(t *testing.T, r *fair.Ring, q *model.Queue, c fair.Config) (users []string) {
	t.Helper()
	for {
		d := r.Grab(c, fair.Processor{})
		want, rule := q.Grab(model.Criteria{})
		if d.Rule != rules[rule] || d.User != want.User || d.Deposit.ID != want.ID {
			t.Fatalf("grab %d is %+v, the model says %+v", len(users)+1, d, want)
		}
		if rule == 0 {
			return users
		}
		if err := r.Apply(d); err != nil {
			t.Fatal(err)
		}
		r.End(d.User, d.Deposit.ID)
		q.End(want)
		users = append(users, d.User)
	}
}

// TestQueueLaps: without news, each user is served their allocation in each lap, in the
// order in which they joined; so a user with 3 deposits beside one with 10,000 is served
// once a lap.
func TestQueueLaps(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(seed(t), 0))
	for range 4 {
		ring, q, config := &fair.Ring{}, model.NewQueue(), fair.DefaultConfig()
		config.Allocation.Of = map[string]int{}
		counts := []int{10_000, 3}
		for range r.IntN(4) {
			counts = append(counts, 1+r.IntN(200))
		}
		r.Shuffle(len(counts), func(i, j int) { counts[i], counts[j] = counts[j], counts[i] })
		for i, count := range counts {
			user := fmt.Sprintf("user%d", i)
			if count != 3 {
				q.Allocations[user] = 1 + r.IntN(3)
				config.Allocation.Of[user] = q.Allocations[user]
			}
			for k := range count {
				d := model.Deposit{User: user, ID: fmt.Sprintf("%d/%d", i, k), Number: int64(k)}
				q.Put(d)
				ring.Put(user, fair.Deposit{ID: d.ID, Number: d.Number})
			}
		}
		var want []string
		for left := slices.Clone(counts); slices.Max(left) > 0; {
			for i := range left {
				user := fmt.Sprintf("user%d", i)
				n := min(left[i], q.AllocationOf(user))
				left[i] -= n
				want = append(want, slices.Repeat([]string{user}, n)...)
			}
		}
		if got := served(t, ring, q, config); !slices.Equal(got, want) {
			t.Fatalf("users with %v deposits and the allocations %v are served in another order than by laps", counts, config.Allocation.Of)
		}
	}
}
