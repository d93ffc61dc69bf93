package record

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
)

// PauseHost has a server left alone for a while, because it has asked for that. A longer pause
// stays.
func (r *Records) PauseHost(ctx context.Context, host string, pause time.Duration) error {
	_, err := change("poll/pause", func() (struct{}, error) {
		return struct{}{}, r.q.PauseHost(ctx, pgdb.PauseHostParams{Host: host, Seconds: pause.Seconds()})
	})
	return wrap(err, "pause the server", host)
}

// HostPauses returns the servers that are to be left alone now, and for how long yet.
func (r *Records) HostPauses(ctx context.Context) (map[string]time.Duration, error) {
	rows, err := r.q.HostPauses(ctx)
	pauses := make(map[string]time.Duration, len(rows))
	for _, row := range rows {
		pauses[row.Host] = time.Duration(row.Seconds * float64(time.Second))
	}
	return pauses, wrap(err, "read the pauses of", "servers")
}
