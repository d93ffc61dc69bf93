package domain

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/text"
)

// The kinds of the settings of the deposit queues. What is set wins over the
// configuration.
const (
	SettingDepositQueue HoldKind = "deposit_queue" // its name is that of the queue
	SettingUserLimit    HoldKind = "user_limit"    // see [UserLimitName]
	SettingProcessor    HoldKind = "processor"     // see [ProcessorName]
)

// OfQueue reports whether a setting of the kind belongs to a deposit queue, so that what
// is grabbed there depends on it.
func (k HoldKind) OfQueue() bool {
	return k == SettingDepositQueue || k == SettingUserLimit || k == SettingProcessor
}

// DepositQueues are the deposit queues.
var DepositQueues = []string{fair.QueueMetadata, fair.QueueQuery}

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

const (
	maxProcessor = 64 // bytes of the name of a processor
	// MaxWorkers is the most workers of a processor.
	MaxWorkers = 256
)

// UserLimitName returns the name of the setting of a user's limits in a queue.
func UserLimitName(queue, user string) string { return queue + "-" + text.EncodeUser(user) }

// ProcessorName returns the name of the setting of a processor of a queue.
func ProcessorName(queue, name string) string { return queue + "-" + name }

// SettingOf returns the kind and the name of a setting.
func SettingOf(a Aggregate) (kind HoldKind, name string) {
	k, name, _ := strings.Cut(a.ID, ":")
	return HoldKind(k), name
}

// SplitQueueName returns the queue that the name of a setting of a deposit queue holds, and
// the user or the processor. It refuses names that no such setting has.
func SplitQueueName(kind HoldKind, name string) (queue, of string, err error) {
	queue, of = name, ""
	if kind != SettingDepositQueue {
		queue, of, _ = strings.Cut(name, "-")
	}
	if !slices.Contains(DepositQueues, queue) {
		return "", "", errors.New("the deposit queues are " + strings.Join(DepositQueues, " and ") + ", not " + queue)
	}
	switch kind {
	case SettingUserLimit:
		if of, err = text.DecodeUser(of); err == nil {
			err = fair.CheckUser(of)
		}
	case SettingProcessor:
		err = CheckProcessorName(of)
	}
	return queue, of, err
}

// CheckProcessorName refuses what cannot be the name of a processor.
func CheckProcessorName(name string) error {
	if name == "" || len(name) > maxProcessor || strings.ContainsFunc(name, func(r rune) bool { return r > '~' || r == '@' || !text.PlainInUser(byte(r)) }) {
		return fmt.Errorf("%q is not the name of a processor: use 1 to %d of A–Z, a–z, 0–9, _ and -", name, maxProcessor)
	}
	return nil
}

func checkNumber(what string, n *int) error {
	if n != nil && *n < 0 {
		return fmt.Errorf("the %s is %d: give 0 or more", what, *n)
	}
	return nil
}

// clean returns the setting with sorted users, nil = nothing is set, and every fault.
func (q DepositQueue) clean(queue string) (_ *DepositQueue, err error) {
	q.Prohibited, err = fair.CleanUsers(q.Prohibited)
	if q.Prohibited == nil && !q.Suspended && !q.TransferStopped && q.Allocation == nil && q.Concurrency == nil && q.Synchronous == nil {
		return nil, err
	}
	if q.Synchronous != nil && queue != fair.QueueMetadata {
		err = errors.Join(err, errors.New("only deposits of "+fair.QueueMetadata+" are synchronous, not those of "+queue+": `accession query answer` answers at once"))
	}
	return &q, errors.Join(err, checkNumber("default allocation", q.Allocation), checkNumber("default concurrency", q.Concurrency),
		checkNumber("limit of synchronous deposits", q.Synchronous))
}

// clean returns the limits of a user, nil = none is set, and every fault.
func (l UserLimit) clean(user string) (*UserLimit, error) {
	if l.Allocation == nil && l.Concurrency == nil {
		return nil, nil
	}
	l.User = user
	return &l, errors.Join(checkNumber("allocation", l.Allocation), checkNumber("concurrency", l.Concurrency))
}

// clean returns the processor with sorted users, and every fault.
func (p Processor) clean(queue string) (*Processor, error) {
	var users, preferred error
	p.Queue = queue
	p.Users, users = fair.CleanUsers(p.Users)
	p.Preferred, preferred = fair.CleanUsers(p.Preferred)
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

// CleanQueueSetting returns the value of a setting of a deposit queue as it is stored:
// users sorted and each once, and nothing where nothing is set. It names every fault.
func CleanQueueSetting(kind HoldKind, name string, v SettingValue) (to SettingValue, err error) {
	queue, of, err := SplitQueueName(kind, name)
	if err != nil {
		return to, err
	}
	switch {
	case kind == SettingDepositQueue && v.DepositQueue != nil:
		to.DepositQueue, err = v.DepositQueue.clean(queue)
	case kind == SettingUserLimit && v.UserLimit != nil:
		to.UserLimit, err = v.UserLimit.clean(of)
	case kind == SettingProcessor && v.Processor != nil:
		to.Processor, err = v.Processor.clean(queue)
	}
	return to, err
}
