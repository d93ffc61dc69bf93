package queues

import (
	"context"
	"errors"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/standing"
	"github.com/accession-ingest/accession/domain"
)

// CloseIntake refuses, from now on and in every process, what is deposited to a queue, with a
// message to the depositor: of one user, or of all with "".
func CloseIntake(ctx context.Context, a *app.App, name, user, message, why string) (app.Changed, error) {
	if message = strings.TrimSpace(message); message == "" {
		return app.Changed{}, &app.Error{Kind: app.Invalid, What: "close the intake", Err: errors.New("a closed intake needs a message"), Hint: "say with --message what depositors are to know, such as until when"}
	}
	return setIntake(ctx, a, name, user, message, why)
}

// OpenIntake ends what CloseIntake did for a user, or for all with "". Who is closed out alone
// stays so.
func OpenIntake(ctx context.Context, a *app.App, name, user, why string) (app.Changed, error) {
	return setIntake(ctx, a, name, user, "", why)
}

func setIntake(ctx context.Context, a *app.App, name, user, message, why string) (app.Changed, error) {
	if user == "" {
		return change(ctx, a, domain.SettingDepositQueue, name, ofQueue(func(q *domain.DepositQueue) { q.Closed = message }), why, accepted)
	}
	return change(ctx, a, domain.SettingUserLimit, domain.UserLimitName(name, user), ofUser(func(l *domain.UserLimit) { l.Closed = message }), why, accepted)
}

// Closed is an intake that is closed.
type Closed struct {
	ID string `json:"id"` // of the setting that closes it: the queue, or the queue and the user
	standing.Closed
	By   string      `json:"by,omitempty"` // who closed it; these three are absent while the log cannot say it
	When domain.Time `json:"when,omitzero"`
	Why  string      `json:"why,omitempty"`
	// Setting is the version of the setting that closes it, for If-Match.
	Setting int64 `json:"setting_version"`
}

// Intake returns which intakes are closed, in the order of the queues: first that of all
// users. Empty = every deposit is let in.
func Intake(ctx context.Context, a *app.App) (all []Closed, err error) {
	for _, queue := range domain.DepositQueues {
		now, err := settings(ctx, a, queue)
		if err != nil {
			return nil, err
		}
		history := histories{ctx: ctx, app: a, known: map[domain.Aggregate][]domain.Recorded{}}
		for _, c := range standing.ClosedIn(queue, now) {
			kind, name := domain.SettingDepositQueue, queue
			if c.User != "" {
				kind, name = domain.SettingUserLimit, domain.UserLimitName(queue, c.User)
			}
			shown := Closed{ID: name, Closed: c}
			if shown.Setting, err = Version(ctx, a, kind, name); err != nil {
				return nil, err
			}
			if e, d := history.set(domain.SettingAggregate(kind, name), message); d != nil {
				shown.By, shown.When, shown.Why = string(e.Actor), e.Time, d.Why
			}
			all = append(all, shown)
		}
	}
	return all, nil
}

// message returns with what a setting closes an intake, "" = it does not.
func message(v *domain.SettingValue) string {
	switch {
	case v == nil:
	case v.DepositQueue != nil:
		return v.DepositQueue.Closed
	case v.UserLimit != nil:
		return v.UserLimit.Closed
	}
	return ""
}
