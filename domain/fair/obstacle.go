package fair

import "slices"

// Obstacle is why a user is not served.
type Obstacle string

// The obstacles, those that are nearest to be overcome first.
const (
	ObstacleNone            Obstacle = ""                 // is served in turn
	ObstacleUnread          Obstacle = "unread"           // the deposits are not known yet
	ObstacleConcurrency     Obstacle = "at_concurrency"   // as many run as may
	ObstacleTooLarge        Obstacle = "too_large"        // the head is larger than the processor takes
	ObstacleSizeUnknown     Obstacle = "size_unknown"     // the head's size is unknown, and the processor takes not every size
	ObstacleConcurrencyZero Obstacle = "concurrency_zero" // is never served
	ObstacleAllocationZero  Obstacle = "allocation_zero"  // is never served by round robin
	ObstacleProhibited      Obstacle = "prohibited"       // is served only by processors that require the user
	ObstacleExcluded        Obstacle = "excluded"         // the processor does not serve the user
	ObstacleNotRequired     Obstacle = "not_required"     // the processor requires other users
	ObstacleNoProcessor     Obstacle = "no_processor"     // no processor grabs from the queue
	ObstacleSuspended       Obstacle = "suspended"        // nothing is grabbed from the queue
	ObstacleEmpty           Obstacle = "empty"            // nothing of the user waits
	ObstaclePool            Obstacle = "pool_full"        // as many synchronous deposits run as may
)

// nearest orders obstacles that processors differ in.
var nearest = []Obstacle{
	ObstacleNone, ObstacleUnread, ObstacleConcurrency, ObstacleTooLarge, ObstacleSizeUnknown, ObstacleConcurrencyZero, ObstacleAllocationZero,
	ObstacleProhibited, ObstacleExcluded, ObstacleNotRequired, ObstacleNoProcessor, ObstacleSuspended, ObstacleEmpty,
}

// Why returns what keeps the processors of a queue from serving a user. If they differ,
// it is the obstacle of the one that is nearest to serve.
func (r *Ring) Why(c Config, processors []Processor, user string) Obstacle {
	m := r.known[user]
	switch {
	case m == nil || m.slot == 0:
		return ObstacleEmpty
	case c.Suspended:
		return ObstacleSuspended
	}
	why := slices.Index(nearest, ObstacleNoProcessor)
	for _, p := range processors {
		why = min(why, slices.Index(nearest, m.obstacle(c, p)))
	}
	return nearest[why]
}

// obstacle returns what keeps one processor from serving m by any rule.
func (m *member) obstacle(c Config, p Processor) Obstacle {
	if p.requires() {
		return m.required(c, p)
	}
	if why := m.barred(c, p); why != ObstacleNone {
		return why
	}
	if c.Allocation.For(m.user) == 0 && !p.Preferred[m.user] {
		return ObstacleAllocationZero
	}
	return m.full(c, p)
}

// required is the obstacle of the first rule. It knows no prohibition.
func (m *member) required(c Config, p Processor) Obstacle {
	if !p.Users[m.user] {
		return ObstacleNotRequired
	}
	return m.full(c, p)
}

// preferred is the obstacle of the second rule.
func (m *member) preferred(c Config, p Processor) Obstacle {
	if !p.Preferred[m.user] {
		return ObstacleExcluded
	}
	return m.inTurn(c, p)
}

// inTurn is the obstacle of round robin besides the allocation.
func (m *member) inTurn(c Config, p Processor) Obstacle {
	if why := m.barred(c, p); why != ObstacleNone {
		return why
	}
	return m.full(c, p)
}

// barred is the obstacle of a user whom the processor or the queue does not serve.
func (m *member) barred(c Config, p Processor) Obstacle {
	switch {
	case p.excludes(m.user):
		return ObstacleExcluded
	case c.Prohibited[m.user]:
		return ObstacleProhibited
	}
	return ObstacleNone
}

// full is the obstacle of every rule: the concurrency of the user, and the size of the
// head.
func (m *member) full(c Config, p Processor) Obstacle {
	switch limit := c.Concurrency.For(m.user); {
	case limit == 0:
		return ObstacleConcurrencyZero
	case len(m.running) >= limit:
		return ObstacleConcurrency
	case m.unread:
		return ObstacleUnread
	case p.MaxSize == 0:
		return ObstacleNone
	case m.waiting.first().Size == 0:
		return ObstacleSizeUnknown
	case m.waiting.first().Size > p.MaxSize:
		return ObstacleTooLarge
	}
	return ObstacleNone
}
