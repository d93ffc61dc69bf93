package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

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

// TestRebuildWithRolesThatCameLater: the roles belong to the whole server, so that another
// installation may make them after the records of this one were made. Its views then read them
// as before, of an open directory too, whose files would not be downloaded any more.
func TestRebuildWithRolesThatCameLater(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.must(in.app.Open.MakeRoles(in.ctx()))
	owners, err := in.db.Query(in.ctx(), `select format('alter table %s owner to current_user', c.oid::regclass) from pg_class c
		where c.relnamespace = 'record'::regnamespace and c.relkind in ('r', 'p', 'v')`)
	in.must(err)
	statements, err := pgx.CollectRows(owners, pgx.RowTo[string])
	in.must(err)
	for _, s := range append(statements, "alter schema record owner to current_user") {
		_, err := in.db.Exec(in.ctx(), s)
		in.must(err)
	}
	in.says(0, words("rebuild"))
	for _, view := range []string{"directory_listing", "dataset_reconciliation", "inventory"} {
		if n := in.count("select count(*) from pg_views where schemaname = 'report' and viewowner = 'accession_owner' and viewname = $1", view); n != 1 {
			t.Errorf("%s is not owned by accession_owner", view)
		}
		in.count("select count(*) from report." + view)
	}
}
