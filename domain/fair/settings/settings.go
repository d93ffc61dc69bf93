// Package settings merges what the configuration says of a deposit queue with what
// operators have set.
package settings

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
)

// Default is the name of the processor that a queue has without another in the
// configuration: it takes the deposits of all users.
const Default = "default"

// Values are values of the settings of one queue. What is absent is not set.
type Values struct {
	Queue      domain.DepositQueue
	Limits     map[string]domain.UserLimit // by user
	Processors map[string]domain.Processor // by name
}

// New returns values of which none is set.
func New() Values {
	return Values{Limits: map[string]domain.UserLimit{}, Processors: map[string]domain.Processor{}}
}

// Set sets a value of a setting of the queue, whose name it splits.
func (v *Values) Set(kind domain.SettingKind, name string, value domain.SettingValue) {
	_, of, err := domain.SplitQueueName(kind, name)
	switch {
	case err != nil:
	case value.DepositQueue != nil:
		v.Queue = *value.DepositQueue
	case value.UserLimit != nil:
		v.Limits[of] = *value.UserLimit
	case value.Processor != nil:
		v.Processors[of] = *value.Processor
	}
}

// Check returns every fault of the values of a queue.
func (v Values) Check(queue string) error {
	check := func(kind domain.SettingKind, name string, value domain.SettingValue) error {
		if _, err := domain.NormaliseSetting(kind, name, value); err != nil {
			return fmt.Errorf("the deposit queue %s: %w", queue, err)
		}
		return nil
	}
	faults := []error{check(domain.SettingDepositQueue, queue, domain.SettingValue{DepositQueue: &v.Queue})}
	for _, user := range slices.Sorted(maps.Keys(v.Limits)) {
		limit := v.Limits[user]
		faults = append(faults, check(domain.SettingUserLimit, domain.UserLimitName(queue, user), domain.SettingValue{UserLimit: &limit}))
	}
	for _, name := range slices.Sorted(maps.Keys(v.Processors)) {
		p := v.Processors[name]
		faults = append(faults, check(domain.SettingProcessor, domain.ProcessorName(queue, name), domain.SettingValue{Processor: &p}))
	}
	return errors.Join(faults...)
}

// Merge returns the configuration of a queue: what is set wins over what the configuration
// says, value by value.
func Merge(configured, set Values) fair.Config {
	c := fair.DefaultConfig()
	c.Allocation.Of, c.Concurrency.Of = map[string]int{}, map[string]int{}
	for _, v := range []Values{configured, set} {
		c.Suspended = c.Suspended || v.Queue.Suspended
		if v.Queue.Prohibited != nil {
			c.Prohibited = fair.Users{}
			for _, user := range v.Queue.Prohibited {
				c.Prohibited[user] = true
			}
		}
		over(&c.Allocation.Default, v.Queue.Allocation)
		over(&c.Concurrency.Default, v.Queue.Concurrency)
		over(&c.Synchronous, v.Queue.Synchronous)
		for user, limit := range v.Limits {
			own(c.Allocation.Of, user, limit.Allocation)
			own(c.Concurrency.Of, user, limit.Concurrency)
		}
	}
	return c
}

func over(n, with *int) {
	if with != nil {
		*n = *with
	}
}

func own(of map[string]int, user string, n *int) {
	if n != nil {
		of[user] = *n
	}
}

// Processors returns the processors of a queue by name: those that are set over those of
// the configuration, which without any has the one named [Default].
func Processors(queue string, configured, set Values) map[string]domain.Processor {
	all := map[string]domain.Processor{}
	maps.Copy(all, configured.Processors)
	if len(all) == 0 {
		all[Default] = domain.Processor{Queue: queue}
	}
	maps.Copy(all, set.Processors)
	return all
}
