package simulate_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/fair/simulate"
)

// chance returns the same numbers each time.
func chance(seed uint64) func() float64 {
	return func() float64 {
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		return float64(seed>>11) / (1 << 53)
	}
}

// TestSmallUserWaitsLess: ana has ten deposits of a second, then ben comes with one; the
// one server serves ana until the deposit that runs ends.
func TestSmallUserWaitsLess(t *testing.T) {
	t.Parallel()
	var arrivals []simulate.Arrival
	for range 10 {
		arrivals = append(arrivals, simulate.Arrival{User: "ana", Service: time.Second})
	}
	arrivals = append(arrivals, simulate.Arrival{User: "ben", At: 500 * time.Millisecond, Service: time.Second})
	got, err := simulate.Compare(arrivals, 1, fair.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s := time.Second
	want := []simulate.User{
		{Name: "ana", Deposits: 10, Fair: simulate.Waits{P50: 5 * s, P95: 10 * s, P99: 10 * s, Max: 10 * s}, FIFO: simulate.Waits{P50: 4 * s, P95: 9 * s, P99: 9 * s, Max: 9 * s}},
		{Name: "ben", Deposits: 1, Fair: same(1500 * time.Millisecond), FIFO: same(9500 * time.Millisecond)},
	}
	if !reflect.DeepEqual(got.Users, want) || got.End != 11*s || got.All.Deposits != 11 {
		t.Errorf("%+v\nwant %+v; the end is at %s", got.Users, want, got.End)
	}
}

func same(d time.Duration) simulate.Waits { return simulate.Waits{P50: d, P95: d, P99: d, Max: d} }

// TestConcurrency keeps servers free for others, and lengthens the wait of who has much.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	arrivals := []simulate.Arrival{{User: "ana", Service: time.Second}, {User: "ana", Service: time.Second}, {User: "ana", Service: time.Second}}
	c := fair.DefaultConfig()
	c.Concurrency.Default = 1
	got, err := simulate.Compare(arrivals, 3, c)
	if err != nil || got.All.Fair.Max != 2*time.Second || got.All.FIFO.Max != 0 {
		t.Errorf("%+v, %v", got.All, err)
	}
	c.Concurrency.Default = 0
	if _, err := simulate.Compare(arrivals, 3, c); err == nil || !strings.Contains(err.Error(), "deposits of ana are never served") {
		t.Error(err)
	}
}

// TestComparison: every deposit is served once under both rules, whatever arrives.
func TestComparison(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := simulate.Load{
			Users: rapid.IntRange(1, 20).Draw(t, "users"), Deposits: rapid.IntRange(0, 200).Draw(t, "deposits"),
			Skew: rapid.Float64Range(0, 3).Draw(t, "skew"), Servers: rapid.IntRange(1, 5).Draw(t, "servers"),
			Use: rapid.Float64Range(0.1, 10).Draw(t, "use"), Service: time.Minute,
		}
		seed := rapid.Uint64Range(1, 1<<40).Draw(t, "seed")
		arrivals := simulate.Generate(l, chance(seed))
		if !slices.Equal(arrivals, simulate.Generate(l, chance(seed))) {
			t.Fatal("the same seed has other arrivals")
		}
		got, err := simulate.Compare(arrivals, l.Servers, fair.DefaultConfig())
		if err != nil || got.All.Deposits != l.Deposits {
			t.Fatalf("%d deposits, want %d: %v", got.All.Deposits, l.Deposits, err)
		}
		// With a concurrency that never bounds, no server idles while a deposit waits,
		// so that one user is served as under first in, first out.
		if l.Users == 1 && l.Servers <= fair.DefaultConcurrency && got.All.Fair != got.All.FIFO {
			t.Fatalf("%+v, and first in, first out %+v", got.All.Fair, got.All.FIFO)
		}
	})
}

// TestGeneratedUsers: the first user of a skewed load has the most, and under skew 0 all
// deposit alike.
func TestGeneratedUsers(t *testing.T) {
	t.Parallel()
	count := func(skew float64) map[string]int {
		n := map[string]int{}
		for _, a := range simulate.Generate(simulate.Load{Users: 10, Deposits: 10_000, Skew: skew, Servers: 1, Use: 1, Service: time.Second}, chance(7)) {
			n[a.User]++
		}
		return n
	}
	if n := count(0); n["user01"] < 900 || n["user01"] > 1100 || n["user10"] < 900 {
		t.Errorf("skew 0: %v", n)
	}
	if n := count(1); n["user01"] < 3200 || n["user01"] > 3600 || n["user10"] > 400 || n["user10"] < 280 { // 1 of 2.93, 0.1 of 2.93
		t.Errorf("skew 1: %v", n)
	}
}
