package fair

import "fmt"

// Pool is the pool of the synchronous deposits of a queue. They run beside its ring: the
// allocation of a user, and how many deposits of the user run, do not count.
type Pool struct {
	Queue   string
	Config  Config
	Running int
	Paused  bool // nothing is worked on
}

// Why returns what keeps a synchronous deposit of a user from running now.
func (p Pool) Why(user string) Obstacle {
	switch {
	case p.Config.Suspended, p.Paused:
		return ObstacleSuspended
	case p.Config.Prohibited[user]:
		return ObstacleProhibited
	case p.Config.Concurrency.For(user) == 0:
		return ObstacleConcurrencyZero
	case p.Running >= p.Config.Synchronous:
		return ObstaclePool
	}
	return ObstacleNone
}

// Refusal says why a synchronous deposit of a user is not taken, "" = it is.
func (p Pool) Refusal(user string) string {
	switch p.Why(user) {
	case ObstacleNone:
		return ""
	case ObstacleSuspended:
		if p.Paused {
			return "no synchronous deposit is taken: the queue ingest is paused"
		}
		return "no synchronous deposit is taken: the deposit queue " + p.Queue + " is suspended"
	case ObstacleProhibited:
		return fmt.Sprintf("no synchronous deposit of %s is taken: the user is prohibited in the deposit queue %s", user, p.Queue)
	case ObstacleConcurrencyZero:
		return fmt.Sprintf("no synchronous deposit of %s is taken: the concurrency of the user is 0 in the deposit queue %s", user, p.Queue)
	default:
		return fmt.Sprintf("%d synchronous deposits run, of %d that may", p.Running, p.Config.Synchronous)
	}
}
