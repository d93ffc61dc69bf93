package run

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/wire"
)

// lookTime is how long a stopping process may take to look at the outbox.
const lookTime = 2 * time.Second

// unsent tells how many events this process leaves in the outbox: another one's
// relay leads their shard, or none runs. They are safe there.
func (s *Service) unsent(w *wire.World) {
	if !s.has(RoleDaemons) && !s.has(RoleRelay) && !s.has(RoleSweeper) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	live, err := w.Live(ctx)
	if err == nil {
		o, lookErr := live.Overview(ctx)
		if err = lookErr; err == nil && o.Outbox.Unsent > 0 {
			s.Log.Warn("events wait in the outbox for the next relay; nothing is lost", "events", o.Outbox.Unsent, "oldest", o.Outbox.Oldest)
		}
	}
	if err != nil {
		s.Log.Info("whether events wait for the next relay is not known", "error", err)
	}
}
