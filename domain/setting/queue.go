package setting

import (
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/domain/fair"
)

// DepositQueue is what operators have set of a deposit queue. What is absent is as the
// configuration says.
type DepositQueue struct {
	Suspended bool `json:"suspended,omitempty"`
	// TransferStopped says that nothing is transferred from the drop folder to the queue.
	TransferStopped bool `json:"transfer_stopped,omitempty"`
	// Prohibited users are served only by processors that require them. Nil = not set.
	Prohibited  []string `json:"prohibited,omitzero"`
	Allocation  *int     `json:"allocation,omitempty"`
	Concurrency *int     `json:"concurrency,omitempty"`
	// Synchronous is how many synchronous deposits run at once, of metadata only.
	Synchronous *int `json:"synchronous,omitempty"`
}

// UserLimit is what operators have set of the limits of one user in a deposit queue. What
// is absent is as the configuration says, or as for every user.
type UserLimit struct {
	User        string `json:"user"`
	Allocation  *int   `json:"allocation,omitempty"`
	Concurrency *int   `json:"concurrency,omitempty"`
}

// Processor is what a processor of a deposit queue asks for.
type Processor struct {
	Queue string `json:"queue"`
	// Users are those that it requires, empty = it serves all. ExcludeUsers makes them
	// those that it does not serve.
	Users        []string `json:"users,omitempty"`
	ExcludeUsers bool     `json:"exclude_users,omitempty"`
	Preferred    []string `json:"preferred,omitempty"`
	MaxSize      int64    `json:"max_size,omitempty"` // bytes, 0 = any
	// Workers is how many workers each process has for it, 0 = as many as its
	// configuration says.
	Workers int  `json:"workers,omitempty"`
	Stopped bool `json:"stopped,omitempty"`
}

// Criteria returns what the processor asks of a grab.
func (p Processor) Criteria() fair.Processor {
	return fair.Processor{MaxSize: p.MaxSize, Users: userSet(p.Users), ExcludeUsers: p.ExcludeUsers, Preferred: userSet(p.Preferred)}
}

func userSet(list []string) fair.Users {
	users := fair.Users{}
	for _, user := range list {
		users[user] = true
	}
	return users
}

// MaxWorkers is the most workers of a processor.
const MaxWorkers = 256

func checkNumber(what string, n *int) error {
	if n != nil && *n < 0 {
		return fmt.Errorf("the %s is %d: give 0 or more", what, *n)
	}
	return nil
}

// Normalise returns the setting with sorted users, nil = nothing is set, and every fault.
func (q DepositQueue) Normalise(queue string) (_ *DepositQueue, err error) {
	q.Prohibited, err = fair.NormaliseUsers(q.Prohibited)
	if q.Prohibited == nil && !q.Suspended && !q.TransferStopped && q.Allocation == nil && q.Concurrency == nil && q.Synchronous == nil {
		return nil, err
	}
	if q.Synchronous != nil && queue != fair.QueueMetadata {
		err = errors.Join(err, errors.New("only deposits of "+fair.QueueMetadata+" are synchronous, not those of "+queue+": `accession query answer` answers at once"))
	}
	return &q, errors.Join(err, checkNumber("default allocation", q.Allocation), checkNumber("default concurrency", q.Concurrency),
		checkNumber("limit of synchronous deposits", q.Synchronous))
}

// Normalise returns the limits of a user, nil = none is set, and every fault.
func (l UserLimit) Normalise(user string) (*UserLimit, error) {
	if l.Allocation == nil && l.Concurrency == nil {
		return nil, nil
	}
	l.User = user
	return &l, errors.Join(checkNumber("allocation", l.Allocation), checkNumber("concurrency", l.Concurrency))
}

// Normalise returns the processor with sorted users, and every fault.
func (p Processor) Normalise(queue string) (*Processor, error) {
	var users, preferred error
	p.Queue = queue
	p.Users, users = fair.NormaliseUsers(p.Users)
	p.Preferred, preferred = fair.NormaliseUsers(p.Preferred)
	if len(p.Users) == 0 {
		p.Users = nil
	}
	if len(p.Preferred) == 0 {
		p.Preferred = nil
	}
	var workers error
	if p.Workers < 0 || p.Workers > MaxWorkers {
		workers = fmt.Errorf("%d workers: give 0 for as many as the configuration says, or up to %d", p.Workers, MaxWorkers)
	}
	return &p, errors.Join(users, preferred, p.Criteria().Check(), workers)
}
