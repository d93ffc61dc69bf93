package daemon

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/queue"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/fair/settings"
)

// processorsEvery is how long a change of the processors may stay unnoticed.
const processorsEvery = 10 * time.Second

// serveProcessors runs workers for the processors of the deposit queue besides the default
// one, as the settings say at each moment, and as many as the default one has for synchronous
// deposits. A worker that is taken away ends its step first.
func (r *Runner) serveProcessors(ctx, work context.Context, d Daemon) {
	type workers struct {
		n    int
		stop context.CancelFunc
	}
	running := map[string]workers{}
	for range r.cfg.Workers[d.Name] {
		r.all.Go(func() { r.serveProcessor(ctx, work, d, queue.Synchronous) })
	}
	for ctx.Err() == nil {
		changed := r.cfg.Queues.QueueSettingsChanged(fair.QueueMetadata)
		is, err := r.cfg.Queues.QueueSettings(ctx, fair.QueueMetadata)
		if err != nil {
			r.failed(ctx, err, "cannot read the processors; trying again")
			continue
		}
		for name, was := range running {
			if p, there := is.Processors[name]; !there || p.Stopped || r.workersOf(p.Workers, d) != was.n {
				was.stop()
				delete(running, name)
			}
		}
		for name, p := range is.Processors {
			if _, there := running[name]; there || p.Stopped || name == settings.Default {
				continue
			}
			of, stop := context.WithCancel(ctx)
			running[name] = workers{r.workersOf(p.Workers, d), stop}
			r.cfg.Log.Info("workers of a processor begin", "processor", name, "workers", running[name].n)
			for range running[name].n {
				r.all.Go(func() { r.serveProcessor(of, work, d, name) })
			}
		}
		select {
		case <-changed:
		case <-time.After(processorsEvery):
		case <-ctx.Done():
		}
	}
	for _, w := range running {
		w.stop()
	}
}

func (r *Runner) workersOf(n int, d Daemon) int {
	if n > 0 {
		return n
	}
	return r.cfg.Workers[d.Name]
}

// serveProcessor is one worker of a processor.
func (r *Runner) serveProcessor(ctx, work context.Context, d Daemon, processor string) {
	for ctx.Err() == nil {
		admission := r.admission(d).Apart(processor == queue.Synchronous)
		claim, batch, err := r.pending.Next(ctx, processor, r.batchGate(admission))
		if err != nil {
			r.failed(ctx, err, "cannot claim work; trying again", "daemon", d.Name, "processor", processor)
			continue
		}
		r.batchTurn(d, claim, batch, admission).run(work)
	}
}
