package e2e

import (
	"testing"
	"time"
)

// TestIdleService: a service that has nothing to do leaves PostgreSQL alone, but for its looks
// every few seconds. Each of its roles runs here, with pauses that are shorter than by default.
func TestIdleService(t *testing.T) {
	t.Parallel()
	const window, most = 5 * time.Second, 400
	in := newInstallation(t)
	s := in.serve()
	s.works()
	transactions := func() int {
		return in.count("select xact_commit + xact_rollback from pg_stat_database where datname = current_database()")
	}
	before := transactions()
	<-time.After(window) // how much is done in a time cannot be had sooner
	if n := transactions() - before; n > most {
		t.Errorf("%d transactions in %s of a service that has nothing to do, want %d at most", n, window, most)
	} else {
		t.Logf("%d transactions in %s", n, window)
	}
	s.stop()
}
