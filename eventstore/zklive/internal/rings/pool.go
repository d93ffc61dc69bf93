package rings

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

// Pool implements eventstore.Rings.
func (x *Rings) Pool(ctx context.Context, name string) (*eventstore.Pool, error) {
	if !x.used || x.queues[name] == nil {
		return nil, nil
	}
	p, err := x.pool(ctx, name)
	if err != nil {
		return nil, &eventstore.Error{Op: "read the synchronous deposits of " + name, Err: err}
	}
	return p, nil
}

func (x *Rings) pool(ctx context.Context, name string) (*eventstore.Pool, error) {
	settings, err := x.settingsNow(ctx, name)
	if err != nil {
		return nil, err
	}
	p := &eventstore.Pool{Pool: fair.Pool{Queue: name, Config: settings.Config}, Settings: settings.Version}
	var n layout.RunningCount
	stat, err := x.session.GetJSON(ctx, x.root.Pool(name), &n)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return p, nil
	case err != nil:
		return nil, err
	}
	p.Running, p.RunningToken = n.N, eventstore.Token(stat.Version)
	return p, nil
}

// settingsNow returns the settings of a queue as they are now, also when this process has
// not heard yet that another one has changed them.
func (x *Rings) settingsNow(ctx context.Context, name string) (eventstore.QueueSettings, error) {
	for {
		changed := x.settings.QueueSettingsChanged(name)
		known, err := x.settings.QueueSettings(ctx, name)
		if err != nil {
			return known, err
		}
		now, err := x.session.Exists(ctx, x.root.QueueConfig(name))
		if err != nil || now != nil && eventstore.Token(now.Version) <= known.Version {
			return known, err
		}
		select {
		case <-changed:
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return known, ctx.Err()
		}
	}
}
