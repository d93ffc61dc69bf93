package wire

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/poll"
)

// Poller returns what polls open directories.
func (in *Installation) Poller(ctx context.Context) (*poll.Poller, error) {
	p := &poll.Poller{Permits: in.cfg.HostPermits, Log: in.log.With("role", "discover")}
	var live *LiveState
	err := openAll(ctx, into(&live, in.LiveState), into(&p.Files, in.FileHandler), into(&p.Tables, in.DB), into(&p.Records, in.Records),
		into(&p.Profiles, in.profileSet), into(&p.Client, in.client))
	p.Settings, p.Hosts = live, live
	return p, err
}
