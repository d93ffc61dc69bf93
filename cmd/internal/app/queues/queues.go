// Package queues has the use cases of the deposit queues: what operators set, and what is
// in effect.
package queues

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// All names every deposit queue in commands.
const All = "all"

// Named returns the queues that a name in a command stands for.
func Named(name string) ([]string, error) {
	switch {
	case name == All:
		return domain.DepositQueues, nil
	case slices.Contains(domain.DepositQueues, name):
		return []string{name}, nil
	}
	return nil, fmt.Errorf("%q is not a deposit queue: choose %s or %s", name, strings.Join(domain.DepositQueues, ", "), All)
}

// Edit returns what a setting becomes; it leaves the present value as it is.
type Edit = func(domain.SettingValue) domain.SettingValue

// change changes a setting of a deposit queue.
func change(ctx context.Context, a *app.App, kind domain.SettingKind, name string, edit Edit, why, effect string) (c app.Changed, err error) {
	defer app.Explained(&err, "set "+string(kind)+" "+name)
	if err := reasoned(why); err != nil {
		return c, err
	}
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return c, err
	}
	res, err := handler.QueueSetting(ctx, kind, name, edit, strings.TrimSpace(why), a.Meta())
	if err != nil {
		return c, err
	}
	return app.Changed{Target: target.Of(res.State.Aggregate()), Version: res.State.Version, From: Text(res.Before.SettingValue),
		State: Text(res.State.SettingValue), DryRun: a.DryRun, Effects: []string{effect}}, nil
}

// The effects of changes.
const (
	nextGrab = "it counts from the next grab on; what runs is not touched"
	accepted = "it counts for what is deposited from now on; what was accepted goes on"
)

// reasoned returns an error if a change has no reason.
func reasoned(why string) error {
	if strings.TrimSpace(why) == "" {
		return &app.Error{Kind: app.Invalid, What: "set the deposit queues", Err: errors.New("a change of the deposit queues needs a reason"), Hint: "say why with --reason; it stays in the history"}
	}
	return nil
}

// present reads the settings of a queue for a change, which must have a reason.
func present(ctx context.Context, a *app.App, name, why string) (q eventstore.QueueSettings, err error) {
	if err := reasoned(why); err != nil {
		return q, err
	}
	return settings(ctx, a, name)
}

// queue changes what is set of a queue itself.
func queue(ctx context.Context, a *app.App, name, why string, edit func(*domain.DepositQueue)) (app.Changed, error) {
	return change(ctx, a, domain.SettingDepositQueue, name, ofQueue(edit), why, nextGrab)
}

func ofQueue(edit func(*domain.DepositQueue)) Edit {
	return func(v domain.SettingValue) domain.SettingValue {
		var q domain.DepositQueue
		if v.DepositQueue != nil {
			q = *v.DepositQueue
		}
		edit(&q)
		return domain.SettingValue{DepositQueue: &q}
	}
}

func ofUser(edit func(*domain.UserLimit)) Edit {
	return func(v domain.SettingValue) domain.SettingValue {
		var l domain.UserLimit
		if v.UserLimit != nil {
			l = *v.UserLimit
		}
		edit(&l)
		return domain.SettingValue{UserLimit: &l}
	}
}

// Suspend makes a queue hand nothing out: deposits still join, and what runs ends.
func Suspend(ctx context.Context, a *app.App, name, why string) (app.Changed, error) {
	return queue(ctx, a, name, why, func(q *domain.DepositQueue) { q.Suspended = true })
}

// Resume ends the suspension of a queue.
func Resume(ctx context.Context, a *app.App, name, why string) (app.Changed, error) {
	return queue(ctx, a, name, why, func(q *domain.DepositQueue) { q.Suspended = false })
}

// ResumeAny ends the suspension of a deposit queue, or the pause of a queue of jobs.
func ResumeAny(ctx context.Context, a *app.App, name, why string) (app.Changed, error) {
	if slices.Contains(domain.DepositQueues, name) {
		return Resume(ctx, a, name, why)
	}
	return a.ResumeQueue(ctx, name, why)
}

// StopTransfer keeps what is in the drop folder there; it goes on to accept files.
func StopTransfer(ctx context.Context, a *app.App, name, why string) (app.Changed, error) {
	return queue(ctx, a, name, why, func(q *domain.DepositQueue) { q.TransferStopped = true })
}

// StartTransfer lets deposits from the drop folder join the queue again.
func StartTransfer(ctx context.Context, a *app.App, name, why string) (app.Changed, error) {
	return queue(ctx, a, name, why, func(q *domain.DepositQueue) { q.TransferStopped = false })
}

// Prohibit adds users to those that only processors serve that require them, or with allow
// removes them. What the configuration prohibits is the start.
func Prohibit(ctx context.Context, a *app.App, name string, users []string, allow bool, why string) (app.Changed, error) {
	now, err := present(ctx, a, name, why)
	if err != nil {
		return app.Changed{}, err
	}
	return queue(ctx, a, name, why, func(q *domain.DepositQueue) {
		list := q.Prohibited
		if list == nil {
			list = now.Configured.Queue.Prohibited
		}
		if allow {
			q.Prohibited = slices.DeleteFunc(append([]string{}, list...), func(user string) bool { return slices.Contains(users, user) })
		} else {
			q.Prohibited = slices.Concat(list, users)
		}
	})
}

// Number is what becomes of a number: nil = it stays as it is, [Unset] = the configuration
// counts again.
type Number = *int

// Unset is the [Number] that ends what is set.
const Unset = -1

func set(into **int, n Number) {
	switch {
	case n == nil:
	case *n == Unset:
		*into = nil
	default:
		*into = n
	}
}

// Numbers are what becomes of the numbers of a queue.
type Numbers struct{ Allocation, Concurrency, Synchronous Number }

// Defaults sets the allocation and the concurrency of every user of a queue, and how many
// synchronous deposits run at once.
func Defaults(ctx context.Context, a *app.App, name string, n Numbers, why string) (app.Changed, error) {
	return queue(ctx, a, name, why, func(q *domain.DepositQueue) {
		set(&q.Allocation, n.Allocation)
		set(&q.Concurrency, n.Concurrency)
		set(&q.Synchronous, n.Synchronous)
	})
}

// Limit sets the limits of one user in a queue.
func Limit(ctx context.Context, a *app.App, name, user string, allocation, concurrency Number, why string) (app.Changed, error) {
	return change(ctx, a, domain.SettingUserLimit, domain.UserLimitName(name, user), ofUser(func(l *domain.UserLimit) {
		set(&l.Allocation, allocation)
		set(&l.Concurrency, concurrency)
	}), why, nextGrab)
}

// settings reads the settings of a queue.
func settings(ctx context.Context, a *app.App, name string) (q eventstore.QueueSettings, err error) {
	defer app.Explained(&err, "read the settings of the deposit queue "+name)
	live, err := a.Open.DepositQueues(ctx)
	if err != nil {
		return q, err
	}
	return live.QueueSettings(ctx, name)
}

// Text says what is set, on one line.
func Text(v domain.SettingValue) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	number := func(name string, n *int) {
		if n != nil {
			add("%s=%d", name, *n)
		}
	}
	closed := func(message string) {
		if message != "" {
			add("closed=%q", message)
		}
	}
	switch {
	case v.DepositQueue != nil:
		if v.DepositQueue.Suspended {
			add("suspended")
		}
		if v.DepositQueue.TransferStopped {
			add("transfer_stopped")
		}
		closed(v.DepositQueue.Closed)
		if v.DepositQueue.Prohibited != nil {
			add("prohibited=%s", users(v.DepositQueue.Prohibited))
		}
		number("allocation", v.DepositQueue.Allocation)
		number("concurrency", v.DepositQueue.Concurrency)
		number("synchronous", v.DepositQueue.Synchronous)
	case v.UserLimit != nil:
		closed(v.UserLimit.Closed)
		number("allocation", v.UserLimit.Allocation)
		number("concurrency", v.UserLimit.Concurrency)
	case v.Processor != nil:
		parts = append(parts, Criteria(*v.Processor))
	}
	if len(parts) == 0 {
		return "unset"
	}
	return strings.Join(parts, " ")
}

// Criteria says what a processor asks for, on one line.
func Criteria(p domain.Processor) string {
	state := "started"
	if p.Stopped {
		state = "stopped"
	}
	parts := []string{state}
	switch {
	case len(p.Users) > 0 && p.ExcludeUsers:
		parts = append(parts, "excludes="+users(p.Users))
	case len(p.Users) > 0:
		parts = append(parts, "requires="+users(p.Users))
	}
	if len(p.Preferred) > 0 {
		parts = append(parts, "prefers="+users(p.Preferred))
	}
	if p.MaxSize > 0 {
		parts = append(parts, fmt.Sprintf("max_size=%d", p.MaxSize))
	}
	if p.Workers > 0 {
		parts = append(parts, fmt.Sprintf("workers=%d", p.Workers))
	}
	return strings.Join(parts, " ")
}

func users(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ",")
}
