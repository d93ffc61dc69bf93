//go:build !race

package e2e

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/stack"
)

// BenchmarkRecovery kills each server, which is started again at once, and one of two
// workers, in the middle of work: how long it takes until a deposit is accepted, and
// until all is at rest. Each figure is the median of several.
func BenchmarkRecovery(b *testing.B) {
	const kills = 5
	servers := []stack.Server{stack.ZooKeeper, stack.NATS, stack.PostgreSQL}
	s := newStorm(b, func(*rand.Rand) []string { return nil })
	s.serves(2)
	s.rests(s.deposit("again"))
	measure := func(b *testing.B, kill func()) {
		var accepted, rest []time.Duration
		for b.Loop() {
			for range kills {
				for range 3 {
					s.deposit("mixed")
				}
				s.pause(100*time.Millisecond, 600*time.Millisecond)
				begun := time.Now()
				kill()
				s.offers("again")
				accepted = append(accepted, time.Since(begun))
				s.still()
				rest = append(rest, time.Since(begun))
			}
		}
		b.ReportMetric(median(accepted).Seconds(), "s/accepted")
		b.ReportMetric(median(rest).Seconds(), "s/at-rest")
		b.ReportMetric(slices.Max(rest).Seconds(), "s/at-rest-worst")
	}
	b.Run("none", func(b *testing.B) { measure(b, func() {}) }) // what the work itself takes
	for _, name := range servers {
		b.Run(string(name), func(b *testing.B) {
			measure(b, func() {
				s.must(s.servers.Kill(name))
				s.again(name)
			})
		})
	}
	b.Run("worker", func(b *testing.B) {
		measure(b, func() {
			s.workers[0].kill()
			s.workers = append(s.workers[1:], s.serve(s.via...))
		})
	})
	s.sound()
	for _, w := range s.workers {
		w.stop()
	}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
