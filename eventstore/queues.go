package eventstore

import (
	"cmp"
	"context"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/fair/settings"
)

// QueueSettings are the settings of a deposit queue as of one version. A write that relies
// on them proves that version.
type QueueSettings struct {
	Version Token
	// Config is what is set over what the configuration of this process says. While a
	// setting is unreadable the queue counts as suspended.
	Config fair.Config
	// Processors are those of the queue by name, stopped ones too.
	Processors map[string]domain.Processor
	// Set is what operators have set, Configured what the configuration says.
	Set, Configured settings.Values
	// Unreadable are the settings that cannot be read.
	Unreadable []domain.Aggregate
}

// NewQueueSettings merges the settings of a queue.
func NewQueueSettings(queue string, version Token, configured, set settings.Values, unreadable []domain.Aggregate) QueueSettings {
	q := QueueSettings{Version: version, Config: settings.Merge(configured, set), Processors: settings.Processors(queue, configured, set),
		Set: set, Configured: configured, Unreadable: unreadable}
	q.Config.Suspended = q.Config.Suspended || len(unreadable) > 0
	return q
}

// Closed returns what a user is told whose deposits are not accepted, "" = they are.
func (q QueueSettings) Closed(user string) string {
	return cmp.Or(q.Set.Limits[user].Closed, q.Set.Queue.Closed)
}

// ClosedError says that operators let no deposits in now.
type ClosedError struct {
	Queue   string
	Message string // to the depositor
}

// Error implements error.
func (e *ClosedError) Error() string { return "the intake of " + e.Queue + " is closed: " + e.Message }

// DepositQueues are the deposit queues of the live state.
type DepositQueues interface {
	// QueueSettings may return a cached value, which the caller does not change: one of
	// after the last change by this process, and of others soon.
	QueueSettings(ctx context.Context, queue string) (QueueSettings, error)
	// QueueSettingsChanged returns a channel that is closed when the settings of the
	// queue may have changed since the call, so that the caller reads them after it.
	QueueSettingsChanged(queue string) <-chan struct{}
}
