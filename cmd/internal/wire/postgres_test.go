package wire

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/projections/projtest"
)

// TestHeldConnectionsLeaveOthers: the fewest connections that the configuration allows are there
// for what is short, also while a process holds all that it ever holds for long.
func TestHeldConnectionsLeaveOthers(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	at, err := url.Parse(os.Getenv(projtest.Env))
	if err != nil {
		t.Fatal(err)
	}
	at.Path = "/" + projtest.DB(t).Config().ConnConfig.Database
	in := New(config.Resolved{Config: config.Config{Postgres: at.String(), PostgresConns: 4, OpenTimeout: 20 * time.Second, Instance: "test"}}, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = in.Close() })
	if _, err := in.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	pool, err := in.Pool(ctx)
	if err != nil {
		t.Fatal(err)
	}
	records, err := in.Records(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := in.tables(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for what, lead := range map[string]func(context.Context) (func(), bool, error){"audit": records.LeadAudit, "discovery": records.LeadDiscovery, "mail": records.LeadMail} {
		release, leads, err := lead(ctx)
		if err != nil || !leads {
			t.Fatalf("lead the %s: %v, %v", what, leads, err)
		}
		t.Cleanup(release)
	}
	waiting, stop := context.WithCancel(ctx)
	waited := make(chan struct{})
	go func() { defer close(waited); _ = tables.Seq(waiting, 1<<60) }()
	defer func() { stop(); <-waited }()
	led := false
	err = withLease(ctx, pool, func(ctx context.Context) error {
		led = true
		listens := time.NewTicker(time.Millisecond)
		defer listens.Stop()
		for pool.Stat().AcquiredConns() < heldConns {
			select {
			case <-listens.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		for range 4 {
			conn, err := pool.Acquire(ctx)
			if err != nil {
				return err
			}
			t.Cleanup(conn.Release)
		}
		return nil
	})
	if !led || !errors.Is(err, errLeaseLost) { // which is what the lock says of one that ends
		t.Errorf("beside all that is held: %v", err)
	}
}
