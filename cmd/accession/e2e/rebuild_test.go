package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/tables"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
)

// TestRebuildUnderService: a running service and its readers notice nothing of a
// rebuild; what is deposited meanwhile is in the new tables.
// Shows: P4
func TestRebuildUnderService(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base := webServer(t, samples.Handler())
	in.serveInProcess()
	first := in.submit(app.Deposit{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest})
	in.rest(first)
	second := in.submit(app.Deposit{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest})
	done, err := tables.Rebuild(in.ctx(), in.app, tables.RebuildOptions{KeepOld: true})
	if err != nil || done.Compared != "" || done.At == 0 || !done.Kept {
		t.Fatalf("%+v, %v", done, err)
	}
	third := in.submit(app.Deposit{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest})
	for _, id := range []domain.BatchID{second, third} {
		in.rest(id)
	}
	in.agree()
	if err := tables.DropRebuild(in.ctx(), in.app, false); err != nil {
		t.Error(err)
	}
}

// TestRebuildInterruptedAfterTheSwap: who ends a rebuild that waits to drop the old
// tables reads that the new ones are live.
func TestRebuildInterruptedAfterTheSwap(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	pool, err := in.wired.Pool(in.ctx())
	if err != nil {
		t.Fatal(err)
	}
	reader, err := pool.Begin(in.ctx()) // which the drop waits for
	if err == nil {
		_, err = reader.Exec(in.ctx(), "lock table accession.batch in access share mode")
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(in.ctx())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		done, err := tables.Rebuild(ctx, in.app, tables.RebuildOptions{})
		if !done.Kept {
			err = fmt.Errorf("the old tables are gone; %w", err)
		}
		ended <- err
	}()
	const waiting = "select count(*) > 0 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like 'drop schema%'"
	for waits := false; !waits; {
		select {
		case err := <-ended:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
		if err := pool.QueryRow(in.ctx(), waiting).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	err = <-ended
	var told *app.Error
	if !errors.As(err, &told) || told.Kind != app.Interrupted || !strings.Contains(err.Error(), "the new tables are live") || strings.Contains(told.Hint, "--resume") {
		t.Errorf("%v", err)
	}
	if err := reader.Rollback(in.ctx()); err != nil {
		t.Error(err)
	}
	if err := tables.DropRebuild(in.ctx(), in.app, false); err != nil {
		t.Error(err)
	}
}
