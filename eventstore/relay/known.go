package relay

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

const (
	maxKnown = 16384 // aggregates of one generation
	lookUps  = 16    // questions to the log at once
)

// positions remembers where aggregates stand in the log. It forgets those not
// used for a while: the young generation becomes the old one when it is full, and
// what is still wanted moves back.
type positions struct {
	young, old map[domain.Aggregate]eventstore.LastEvent
}

func (p *positions) get(a domain.Aggregate) (eventstore.LastEvent, bool) {
	if e, ok := p.young[a]; ok {
		return e, true
	}
	e, ok := p.old[a]
	if ok {
		p.set(a, e)
	}
	return e, ok
}

func (p *positions) set(a domain.Aggregate, e eventstore.LastEvent) {
	if len(p.young) >= maxKnown {
		p.old, p.young = p.young, nil
	}
	if p.young == nil {
		p.young = map[domain.Aggregate]eventstore.LastEvent{}
	}
	p.young[a] = e
}

func (p *positions) forget(a domain.Aggregate) {
	delete(p.young, a)
	delete(p.old, a)
}

// lookUp asks the log where the aggregates stand.
func (s *shard) lookUp(ctx context.Context, list []domain.Aggregate) error {
	found := make([]eventstore.LastEvent, len(list))
	errs := make([]error, len(list))
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(lookUps, len(list)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(list); i = int(next.Add(1)) - 1 {
				if found[i], errs[i] = s.relay.Log.Last(ctx, list[i]); errs[i] != nil {
					next.Store(int64(len(list))) // one failure is enough
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	for i, a := range list {
		s.known.set(a, found[i])
	}
	return nil
}
