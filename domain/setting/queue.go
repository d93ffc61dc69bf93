package setting

import (
	"errors"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/text"
)

// DepositQueue is what operators have set of a deposit queue. What is absent is as the
// configuration says.
type DepositQueue struct {
	Suspended bool `json:"suspended,omitempty"`
	// TransferStopped says that nothing is transferred from the drop folder to the queue.
	TransferStopped bool `json:"transfer_stopped,omitempty"`
	// Closed is what depositors are told while none of their deposits is accepted, "" = the
	// intake is open.
	Closed string `json:"closed,omitempty"`
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
	// Closed is what the user is told while none of their deposits is accepted, "" = it is
	// as for every user.
	Closed string `json:"closed,omitempty"`
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

// MaxMessage is the longest message of a closed intake, in bytes.
const MaxMessage = 500

// checkMessage refuses what cannot be the message of a closed intake. "" is none.
func checkMessage(message string) error {
	if len(message) > MaxMessage || !text.Valid(message) || text.Line(message) != message || strings.TrimSpace(message) != message {
		return fmt.Errorf("%q is not the message of a closed intake: use at most %d bytes of text on one line", message, MaxMessage)
	}
	return nil
}

// Normalise returns the setting with sorted users, nil = nothing is set, and every fault.
func (q DepositQueue) Normalise(queue string) (_ *DepositQueue, err error) {
	q.Prohibited, err = fair.NormaliseUsers(q.Prohibited)
	if q.Prohibited == nil && !q.Suspended && !q.TransferStopped && q.Closed == "" && q.Allocation == nil && q.Concurrency == nil && q.Synchronous == nil {
		return nil, err
	}
	if q.Synchronous != nil && queue != fair.QueueMetadata {
		err = errors.Join(err, errors.New("only deposits of "+fair.QueueMetadata+" are synchronous, not those of "+queue+": `accession query answer` answers at once"))
	}
	return &q, errors.Join(err, checkNumber("default allocation", q.Allocation), checkNumber("default concurrency", q.Concurrency),
		checkNumber("limit of synchronous deposits", q.Synchronous), checkMessage(q.Closed))
}

// Normalise returns the limits of a user, nil = none is set, and every fault.
func (l UserLimit) Normalise(user string) (*UserLimit, error) {
	if l.Allocation == nil && l.Concurrency == nil && l.Closed == "" {
		return nil, nil
	}
	l.User = user
	return &l, errors.Join(checkNumber("allocation", l.Allocation), checkNumber("concurrency", l.Concurrency), checkMessage(l.Closed))
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
