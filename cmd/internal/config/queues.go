package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	fairsettings "github.com/accession-ingest/accession/domain/fair/settings"
)

// DepositQueues returns the start values of the deposit queues.
func (c Config) DepositQueues() map[string]fairsettings.Values {
	all, _ := c.depositQueues() // checked when the settings were read
	return all
}

// queueFault is what is wrong with a setting of the deposit queues.
type queueFault struct {
	key string
	error
}

func (c Config) depositQueues() (all map[string]fairsettings.Values, faults []queueFault) {
	all = map[string]fairsettings.Values{}
	fault := func(key string, err error) {
		if err != nil {
			faults = append(faults, queueFault{key, err})
		}
	}
	for _, queue := range domain.DepositQueues {
		v := fairsettings.New()
		for user := range fair.ParseUsers(c.ProhibitedUsers) {
			v.Queue.Prohibited = append(v.Queue.Prohibited, user)
		}
		slices.Sort(v.Queue.Prohibited)
		if n := c.QueueSynchronous; queue == fair.QueueMetadata && n != fair.DefaultSynchronous {
			v.Queue.Synchronous = &n
		}
		all[queue] = v
	}
	for _, one := range []struct {
		key     string
		numbers map[string]int
		of      func(*domain.DepositQueue, *domain.UserLimit) **int
	}{
		{"queue_allocation", c.QueueAllocation, allocation},
		{"queue_concurrency", c.QueueConcurrency, concurrency},
	} {
		for _, name := range slices.Sorted(maps.Keys(one.numbers)) {
			fault(one.key, setNumber(all, name, one.numbers[name], one.of))
		}
	}
	for i, item := range strings.Fields(c.Processors) {
		if addProcessor(all, item) != nil { // what is wrong is not quoted: it may be a secret
			fault("processors", fmt.Errorf("number %d is not QUEUE-NAME?CRITERIA with criteria that a processor has", i+1))
		}
	}
	for _, queue := range domain.DepositQueues {
		if (fairsettings.Values{Queue: all[queue].Queue}).Check(queue) != nil && len(faults) == 0 {
			fault("prohibited_users", errors.New("one of them is not the name of a user"))
		}
	}
	return all, faults
}

func allocation(q *domain.DepositQueue, l *domain.UserLimit) **int {
	if l != nil {
		return &l.Allocation
	}
	return &q.Allocation
}

func concurrency(q *domain.DepositQueue, l *domain.UserLimit) **int {
	if l != nil {
		return &l.Concurrency
	}
	return &q.Concurrency
}

// setNumber sets the number of a queue, or of QUEUE-USER.
func setNumber(all map[string]fairsettings.Values, name string, n int, of func(*domain.DepositQueue, *domain.UserLimit) **int) error {
	queue, user, own := strings.Cut(name, "-")
	v, known := all[queue]
	if !known {
		return fmt.Errorf("%q names no deposit queue", name)
	}
	if !own {
		*of(&v.Queue, nil) = &n
		all[queue] = v
		return nil
	}
	if err := domain.CheckHoldName(domain.SettingUserLimit, domain.UserLimitName(queue, user)); err != nil {
		return err
	}
	limit := v.Limits[user]
	limit.User = user
	*of(&v.Queue, &limit) = &n
	v.Limits[user] = limit
	return nil
}

// addProcessor adds a processor, which is written as QUEUE-NAME or as
// QUEUE-NAME?users=ana,ben&max_size=1000000.
func addProcessor(all map[string]fairsettings.Values, item string) error {
	name, criteria, _ := strings.Cut(item, "?")
	queue, of, err := domain.SplitQueueName(domain.SettingProcessor, name)
	if err != nil {
		return err
	}
	values, err := url.ParseQuery(criteria)
	if err != nil {
		return fmt.Errorf("%q: %w", item, err)
	}
	p := domain.Processor{Queue: queue}
	var faults []error
	for _, key := range slices.Sorted(maps.Keys(values)) {
		faults = append(faults, setCriterion(&p, key, values.Get(key)))
	}
	normal, err := domain.NormaliseSetting(domain.SettingProcessor, name, domain.SettingValue{Processor: &p})
	if err = errors.Join(append(faults, err)...); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	all[queue].Processors[of] = *normal.Processor
	return nil
}

func setCriterion(p *domain.Processor, key, value string) (err error) {
	switch key {
	case "users":
		p.Users = slices.Collect(maps.Keys(fair.ParseUsers(value)))
	case "preferred":
		p.Preferred = slices.Collect(maps.Keys(fair.ParseUsers(value)))
	case "exclude_users":
		p.ExcludeUsers, err = strconv.ParseBool(value)
	case "stopped":
		p.Stopped, err = strconv.ParseBool(value)
	case "max_size":
		p.MaxSize, err = strconv.ParseInt(value, 10, 64)
	case "workers":
		p.Workers, err = strconv.Atoi(value)
	default:
		err = fmt.Errorf("%q is not a criterion: use users, exclude_users, preferred, max_size, workers or stopped", key)
	}
	return err
}
