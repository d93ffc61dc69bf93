package memory

import (
	"context"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair/settings"
	"github.com/accession-ingest/accession/eventstore"
)

var _ eventstore.DepositQueues = (*Store)(nil)

// queueSettings has the versions of the settings of the deposit queues.
type queueSettings struct {
	configured map[string]settings.Values
	version    map[string]eventstore.Token
}

// written counts a change of a setting. The mutex is held.
func (q queueSettings) written(s domain.Setting) {
	if queue, _, err := domain.SplitQueueName(s.Kind, s.Name); s.Kind.OfQueue() && err == nil {
		q.version[queue]++
	}
}

// QueueSettings implements eventstore.DepositQueues.
func (s *Store) QueueSettings(ctx context.Context, queue string) (eventstore.QueueSettings, error) {
	if _, _, err := domain.SplitQueueName(domain.SettingDepositQueue, queue); err != nil {
		return eventstore.QueueSettings{}, &domain.Refused{Aggregate: domain.SettingAggregate(domain.SettingDepositQueue, queue), Code: domain.CodeBadName, Message: err.Error()}
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	return s.server.queueSettings(queue), ctx.Err()
}

// queueSettings returns the settings of a deposit queue. The mutex is held.
func (srv *Server) queueSettings(queue string) eventstore.QueueSettings {
	set := settings.New()
	for _, r := range srv.settings {
		if of, _, err := domain.SplitQueueName(r.state.Kind, r.state.Name); r.state.Kind.OfQueue() && err == nil && of == queue {
			set.Set(r.state.Kind, r.state.Name, r.state.SettingValue)
		}
	}
	return eventstore.NewQueueSettings(queue, srv.queues.version[queue], srv.queues.configured[queue], set, nil)
}

// QueueSettingsChanged implements eventstore.DepositQueues. The channel is closed at
// every change of the live state.
func (s *Store) QueueSettingsChanged(string) <-chan struct{} {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	return s.server.changed
}
