package fair

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The deposit queues.
const (
	QueueMetadata = "metadata"
	QueueQuery    = "query"
)

// Users is a set of users.
type Users map[string]bool

// ParseUsers reads a list of users, separated by spaces, commas, tabs or ends of lines.
func ParseUsers(list string) Users {
	users := Users{}
	for _, user := range strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(" ,\t\r\n", r) }) {
		users[user] = true
	}
	return users
}

// Limit is a number that users have by default or of their own, 0 or more.
type Limit struct {
	Default int
	Of      map[string]int // users with a number of their own
}

// For returns the limit of a user.
func (l Limit) For(user string) int {
	if n, own := l.Of[user]; own {
		return n
	}
	return l.Default
}

// check names every number below 0.
func (l Limit) check(what string) (err error) {
	if l.Default < 0 {
		err = fmt.Errorf("the default %s is %d: give 0 or more", what, l.Default)
	}
	for _, user := range slices.Sorted(maps.Keys(l.Of)) {
		if n := l.Of[user]; n < 0 {
			err = errors.Join(err, fmt.Errorf("the %s of %s is %d: give 0 or more", what, user, n))
		}
	}
	return err
}

// Start values of a queue.
const (
	DefaultAllocation  = 1
	DefaultConcurrency = 5
	DefaultSynchronous = 5
)

// Config is what operators set of a queue.
type Config struct {
	// Suspended means that nothing is grabbed; deposits still join.
	Suspended bool
	// Prohibited users are served only by processors that require them.
	Prohibited Users
	// Allocation is how many deposits of a user are grabbed in one visit of round robin.
	// 0 = never by round robin; who is required or preferred is still served.
	Allocation Limit
	// Concurrency is how many deposits of a user run at once, on all processors
	// together. 0 = none is ever grabbed.
	Concurrency Limit
	// Synchronous is how many synchronous deposits run at once, of all users together.
	// 0 = none is taken.
	Synchronous int
}

// DefaultConfig returns the configuration of a new queue.
func DefaultConfig() Config {
	return Config{Allocation: Limit{Default: DefaultAllocation}, Concurrency: Limit{Default: DefaultConcurrency}, Synchronous: DefaultSynchronous}
}

// Check returns every fault of a configuration.
func (c Config) Check() error {
	var pool error
	if c.Synchronous < 0 {
		pool = fmt.Errorf("the limit of synchronous deposits is %d: give 0 or more", c.Synchronous)
	}
	return errors.Join(c.Allocation.check("allocation"), c.Concurrency.check("concurrency"), pool)
}

// Processor is what one processor asks for.
type Processor struct {
	// MaxSize is the size in bytes of the largest deposit that it takes, 0 = any. A
	// deposit of unknown size fits only 0.
	MaxSize int64
	// Users are those that it requires: it serves no others. Empty = it serves all.
	Users Users
	// ExcludeUsers makes Users those that it does not serve.
	ExcludeUsers bool
	// Preferred users are served before all others.
	Preferred Users
}

// Check returns every fault of the criteria.
func (p Processor) Check() error {
	if p.MaxSize < 0 {
		return fmt.Errorf("the largest size is %d bytes: give 0 for any, or more", p.MaxSize)
	}
	return nil
}

// requires reports whether the processor serves only the users that it names.
func (p Processor) requires() bool { return len(p.Users) > 0 && !p.ExcludeUsers }

func (p Processor) excludes(user string) bool { return p.ExcludeUsers && p.Users[user] }
