package model_test

import (
	"maps"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

// tune changes a setting of the deposit queue, unless it is so already.
func (d *deposits) tune(kind domain.SettingKind, name string, to domain.SettingValue) {
	key := string(kind) + "/" + name
	if cmp.Equal(d.values[key], to) {
		return
	}
	d.values[key] = to
	n, p := d.process()
	d.did("%d: %s %s becomes %+v", n, kind, name, to)
	res, err := p.handler.QueueSetting(d.Context(), kind, name, func(domain.SettingValue) domain.SettingValue { return to }, "a test", storetest.Operator())
	d.must(err)
	d.heard(res.Events)
	clear(d.passed)
}

// limit changes the limits of a user, or ends them.
func (d *deposits) limit() {
	user := oneOf(d.run, "user", depositors)
	to := domain.UserLimit{User: user, Allocation: d.number(d.queue.Allocations, user), Concurrency: d.number(d.queue.Concurrencies, user)}
	value := domain.SettingValue{UserLimit: &to}
	if to.Allocation == nil && to.Concurrency == nil {
		value = domain.SettingValue{}
	}
	d.tune(domain.SettingUserLimit, domain.UserLimitName(fair.QueueMetadata, user), value)
}

// number chooses a limit of a user, nil = none, and keeps it in the model.
func (d *deposits) number(of map[string]int, user string) *int {
	delete(of, user)
	n := oneOf(d.run, "limit", []int{-1, -1, 0, 1, 2, 3})
	if n < 0 {
		return nil
	}
	of[user] = n
	return &n
}

// change suspends or resumes the queue, prohibits users, or changes what holds for all.
func (d *deposits) change() {
	q := d.queue
	q.Suspended, q.Prohibited = d.dice("suspended", 4) == 0, map[string]bool{}
	if d.yes("prohibit") {
		q.Prohibited[oneOf(d.run, "user", depositors)] = true
	}
	q.Allocation, q.Concurrency = 1+d.dice("allocation", 2), 1+d.dice("concurrency", 5)
	d.forAll()
}

// forAll writes the settings that hold for the whole queue as the model has them.
func (d *deposits) forAll() {
	q := d.queue
	allocation, concurrency := q.Allocation, q.Concurrency
	d.tune(domain.SettingDepositQueue, fair.QueueMetadata, domain.SettingValue{DepositQueue: &domain.DepositQueue{Suspended: q.Suspended,
		Prohibited: slices.Sorted(maps.Keys(q.Prohibited)), Allocation: &allocation, Concurrency: &concurrency}})
}

// processor stops a processor or starts it again.
func (d *deposits) processor() {
	name := oneOf(d.run, "processor", []string{"default", "films"})
	d.start(name, d.stopped[name])
}

func (d *deposits) start(name string, on bool) {
	d.stopped[name] = !on
	to := domain.Processor{Queue: fair.QueueMetadata, Users: slices.Sorted(maps.Keys(processors[name].Required)), Stopped: !on}
	d.tune(domain.SettingProcessor, fair.QueueMetadata+"-"+name, domain.SettingValue{Processor: &to})
}

// lift ends all that keeps deposits from being grabbed.
func (d *deposits) lift() {
	q := d.queue
	clear(q.Allocations)
	clear(q.Concurrencies)
	for _, user := range depositors {
		d.tune(domain.SettingUserLimit, domain.UserLimitName(fair.QueueMetadata, user), domain.SettingValue{})
	}
	q.Suspended, q.Prohibited, q.Allocation, q.Concurrency = false, map[string]bool{}, 1, 5
	d.forAll()
	for name := range processors {
		d.start(name, true)
	}
}
