package eventstore

import (
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

// DepositQueues are the deposit queues of the live state.
type DepositQueues interface {
	// QueueSettings may return a cached value, which the caller does not change: one of
	// after the last change by this process, and of others soon.
	QueueSettings(ctx context.Context, queue string) (QueueSettings, error)
	// QueueSettingsChanged returns a channel that is closed when the settings of the
	// queue may have changed since the call, so that the caller reads them after it.
	QueueSettingsChanged(queue string) <-chan struct{}
}
