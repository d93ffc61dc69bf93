package intake

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/eventstore"
)

// RetryClosed is after how long a depositor may ask again whether a closed intake is open.
const RetryClosed = 5 * time.Minute

// Admit refuses, with an [*eventstore.ClosedError], a user's deposit while operators let none
// in to the queue; accepted says that the deposit was let in before, as one in the drop folder.
func Admit(ctx context.Context, open func(context.Context) (eventstore.DepositQueues, error), queue, user string, accepted bool) error {
	if accepted {
		return nil
	}
	live, err := open(ctx)
	if err != nil {
		return err
	}
	now, err := live.QueueSettings(ctx, queue)
	if err != nil {
		return err
	}
	if message := now.Closed(user); message != "" {
		return &eventstore.ClosedError{Queue: queue, Message: message}
	}
	return nil
}
