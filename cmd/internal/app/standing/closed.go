package standing

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Closed is an intake that operators have closed.
type Closed struct {
	Queue   string `json:"queue"`
	User    string `json:"user,omitempty"` // whose deposits are refused, "" = all users'
	Message string `json:"message"`        // to the depositor
}

// Intakes returns which intakes of deposit queues are closed.
func Intakes(ctx context.Context, open func(context.Context) (eventstore.DepositQueues, error)) ([]Closed, error) {
	all := []Closed{}
	live, err := open(ctx)
	for _, queue := range domain.DepositQueues {
		var now eventstore.QueueSettings
		if err == nil {
			now, err = live.QueueSettings(ctx, queue)
		}
		all = append(all, ClosedIn(queue, now)...)
	}
	return all, err
}

// ClosedIn returns who is closed out of a queue: first all users, then single ones.
func ClosedIn(queue string, now eventstore.QueueSettings) (all []Closed) {
	if m := now.Set.Queue.Closed; m != "" {
		all = append(all, Closed{Queue: queue, Message: m})
	}
	for _, user := range slices.Sorted(maps.Keys(now.Set.Limits)) {
		if m := now.Set.Limits[user].Closed; m != "" {
			all = append(all, Closed{queue, user, m})
		}
	}
	return all
}

// line says that an intake is closed.
func (c Closed) line() Line {
	of, command := "", "accession intake open "+c.Queue
	if c.User != "" {
		of, command = " for "+c.User, command+" --user "+strconv.Quote(c.User)
	}
	return Line{CodeClosed, "the intake of " + c.Queue + " is closed" + of + ": " + c.Message, command}
}
