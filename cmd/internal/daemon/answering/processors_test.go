package answering

import (
	"context"
	"maps"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
)

// grabbing are rings in which each grab waits until its worker is taken away.
type grabbing struct {
	eventstore.Rings
	mu sync.Mutex
	by map[string]int // workers, by processor
}

func (g *grabbing) Grab(ctx context.Context, _, processor string, _ func(eventstore.Leave) error) error {
	count := func(n int) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.by[processor] += n; g.by[processor] == 0 {
			delete(g.by, processor)
		}
	}
	count(1)
	defer count(-1)
	<-ctx.Done()
	return ctx.Err()
}

func (g *grabbing) RunningIn(context.Context, string) ([]string, error) { return nil, nil }

// processors are settings of the query queue that a test changes.
type processors struct {
	mu      sync.Mutex
	now     map[string]domain.Processor
	changed chan struct{}
}

func (p *processors) QueueSettings(context.Context, string) (s eventstore.QueueSettings, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.Processors = maps.Clone(p.now)
	return s, nil
}

func (p *processors) QueueSettingsChanged(string) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

func (p *processors) set(now map[string]domain.Processor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = now
	close(p.changed)
	p.changed = make(chan struct{})
}

// Each processor of the query queue has as many workers as it says, one if it says nothing, and
// none while it is stopped; a change counts at once.
func TestWorkersOfProcessors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := newService(t)
		rings, set := &grabbing{by: map[string]int{}}, &processors{changed: make(chan struct{})}
		s.Handler.Rings = rings
		s.Queues = set
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		set.set(map[string]domain.Processor{"default": {Queue: fair.QueueQuery}})
		go func() { defer close(ended); _ = s.Run(ctx) }()
		for _, c := range []struct {
			set  map[string]domain.Processor
			want map[string]int
		}{
			{map[string]domain.Processor{"default": {}, "lists": {Workers: 3}}, map[string]int{"default": 1, "lists": 3}},
			{map[string]domain.Processor{"default": {Stopped: true}, "lists": {Workers: 2}}, map[string]int{"lists": 2}},
			{map[string]domain.Processor{"default": {}, "lists": {}}, map[string]int{"default": 1, "lists": 1}},
			{map[string]domain.Processor{"default": {}}, map[string]int{"default": 1}},
		} {
			set.set(c.set)
			synctest.Wait()
			rings.mu.Lock()
			if !maps.Equal(rings.by, c.want) {
				t.Errorf("the workers are %v, want %v", rings.by, c.want)
			}
			rings.mu.Unlock()
		}
		stop()
		<-ended
		if len(rings.by) > 0 {
			t.Errorf("workers are left: %v", rings.by)
		}
	})
}
