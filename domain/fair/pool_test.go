package fair_test

import (
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain/fair"
)

// TestPool: what keeps a synchronous deposit from running is named, the reason that lasts
// longest first; allocation and concurrency do not count unless nothing of the user ever runs.
func TestPool(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		set  func(*fair.Pool)
		want fair.Obstacle
		says string
	}{
		{"nothing runs", func(*fair.Pool) {}, fair.ObstacleNone, ""},
		{"one place is left", func(p *fair.Pool) { p.Running = fair.DefaultSynchronous - 1 }, fair.ObstacleNone, ""},
		{"the pool is full", func(p *fair.Pool) { p.Running = fair.DefaultSynchronous }, fair.ObstaclePool, "5 synchronous deposits run, of 5 that may"},
		{"the limit was lowered", func(p *fair.Pool) { p.Running, p.Config.Synchronous = 4, 2 }, fair.ObstaclePool, "4 synchronous deposits run, of 2 that may"},
		{"none may run", func(p *fair.Pool) { p.Config.Synchronous = 0 }, fair.ObstaclePool, "0 synchronous deposits run, of 0 that may"},
		{"suspended", func(p *fair.Pool) { p.Config.Suspended, p.Running = true, 9 }, fair.ObstacleSuspended, "the deposit queue metadata is suspended"},
		{"paused", func(p *fair.Pool) { p.Paused = true }, fair.ObstacleSuspended, "the queue ingest is paused"},
		{"prohibited", func(p *fair.Pool) { p.Config.Prohibited, p.Running = fair.ParseUsers("ana"), 9 }, fair.ObstacleProhibited, "of ana is taken: the user is prohibited"},
		{"another is prohibited", func(p *fair.Pool) { p.Config.Prohibited = fair.ParseUsers("ben") }, fair.ObstacleNone, ""},
		{"concurrency 0", func(p *fair.Pool) { p.Config.Concurrency.Of = map[string]int{"ana": 0} }, fair.ObstacleConcurrencyZero, "the concurrency of the user is 0"},
		{"concurrency 1", func(p *fair.Pool) { p.Config.Concurrency.Default, p.Running = 1, 4 }, fair.ObstacleNone, ""},
		{"allocation 0", func(p *fair.Pool) { p.Config.Allocation.Default = 0 }, fair.ObstacleNone, ""},
	} {
		p := fair.Pool{Queue: fair.QueueMetadata, Config: fair.DefaultConfig()}
		c.set(&p)
		if why, says := p.Why("ana"), p.Refusal("ana"); why != c.want || (says == "") != (c.says == "") || !strings.Contains(says, c.says) {
			t.Errorf("%s: %q, %q", c.name, why, says)
		}
	}
}
