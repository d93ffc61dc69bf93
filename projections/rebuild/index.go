package rebuild

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/migrations"
)

// While a rebuild fills its tables they have only the primary keys by which it finds
// rows again; the definitions of all other indexes and keys are kept in a table, so
// that a resumed rebuild knows what is missing. Inserting rows into an index in random
// order costs several times as much as building it at the end.
const (
	saveIndexes = `
create table accession_next.rebuild_index as
select c.relname::text as name, replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ') as definition
from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
where c.relnamespace = 'accession_next'::regnamespace and not i.indisprimary and not t.relispartition
union all
select k.conname::text, format('ALTER TABLE %s ADD CONSTRAINT %I %s', k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid))
from pg_constraint k join pg_class t on t.oid = k.conrelid
where k.connamespace = 'accession_next'::regnamespace and k.contype = 'p' and t.relname = any($1) and not t.relispartition`
	dropIndexes = `
do $$
declare it record;
begin
    for it in select r.name, k.conrelid::regclass as home from accession_next.rebuild_index r
        left join pg_constraint k on k.conname = r.name and k.connamespace = 'accession_next'::regnamespace
    loop
        if it.home is null then
            execute format('drop index accession_next.%I', it.name);
        else
            execute format('alter table %s drop constraint %I', it.home, it.name);
        end if;
    end loop;
end
$$`
)

// appendOnly are the tables whose rows a rebuild writes once and never looks for.
var appendOnly = []string{"event", "job_transition", "file_transition", "batch_report", "slot_transition"}

func (r *rebuild) unindex(ctx context.Context) error {
	return pgx.BeginFunc(ctx, r.cfg.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, saveIndexes, appendOnly); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, dropIndexes)
		return err
	})
}

// analyzedColumns are the columns by which events are found. Statistics of the others, such as
// each event's own id, would cost more than all indexes.
const analyzedColumns = " (epoch, seq, type, kind, aggregate_id, version, batch_id, time)"

// indexWorkers is how many indexes are built, or tables analyzed, at once.
const indexWorkers = 2

// index builds what is missing, and collects statistics of the tables.
func (r *rebuild) index(ctx context.Context) error {
	var there bool
	if err := r.cfg.Pool.QueryRow(ctx, "select to_regclass('accession_next.rebuild_index') is not null").Scan(&there); err != nil || !there {
		return err
	}
	rows, err := r.cfg.Pool.Query(ctx, "select name, definition from accession_next.rebuild_index order by definition")
	if err != nil {
		return err
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[pendingIndex])
	if err != nil {
		return err
	}
	if err := parallel(ctx, list, r.buildIndex); err != nil {
		return err
	}
	// The history comes first: it takes about as long as all others together.
	err = parallel(ctx, compared, func(ctx context.Context, table string) error {
		if table == "event" {
			return r.analyze(ctx, table, analyzedColumns)
		}
		return r.analyze(ctx, table, "")
	})
	if err != nil {
		return err
	}
	_, err = r.cfg.Pool.Exec(ctx, "drop table accession_next.rebuild_index") // last: a resumed rebuild does what is missing
	return err
}

// PostgreSQL looks at 300 rows for each of the values that it remembers of a column, 100
// unless told otherwise: of a small table that is nearly all of it, and dearer than to
// fill it. A tenth of a table is enough, of a large one the usual number.
const (
	rowsPerValue             = 300 * 10
	fewestValues, mostValues = 10, 100
)

// analyze collects statistics of columns of a table, "" = of all.
func (r *rebuild) analyze(ctx context.Context, table, columns string) error {
	return pgx.BeginFunc(ctx, r.cfg.Pool, func(tx pgx.Tx) error {
		table := migrations.Next.Tables + "." + table
		var rows int64 // with its partitions, as PostgreSQL noted them when it built their indexes
		err := tx.QueryRow(ctx, `
select coalesce(sum(greatest(reltuples, 0)), 0)::bigint from pg_class
where oid = to_regclass($1) or oid in (select inhrelid from pg_inherits where inhparent = to_regclass($1))`, table).Scan(&rows)
		if err == nil {
			values := min(max(rows/rowsPerValue, fewestValues), mostValues)
			_, err = tx.Exec(ctx, fmt.Sprintf("set local default_statistics_target = %d; analyze %s%s", values, table, columns))
		}
		if err != nil {
			return fmt.Errorf("analyze %s: %w", table, err)
		}
		return nil
	})
}

// noParallelWorkers keeps PostgreSQL from using parallel workers for tables that are not large:
// starting them costs more than they save, and two tables are processed at once anyway.
const noParallelWorkers = "set local min_parallel_table_scan_size = '256MB'"

// parallel calls do for each item of a list, indexWorkers at once, up to the first
// error.
func parallel[T any](ctx context.Context, list []T, do func(context.Context, T) error) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(indexWorkers)
	for _, one := range list {
		all.Go(func() error { return do(ctx, one) })
	}
	return all.Wait()
}

// pendingIndex is an index that must still be built.
type pendingIndex struct{ Name, Definition string }

func (r *rebuild) buildIndex(ctx context.Context, i pendingIndex) error {
	return crash.Around("projections/rebuild/index", func() error {
		return pgx.BeginFunc(ctx, r.cfg.Pool, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, noParallelWorkers+"; set local maintenance_work_mem = '256MB'; set local synchronous_commit = off; "+i.Definition)
			if err != nil {
				return err
			}
			_, err = tx.Exec(ctx, "delete from accession_next.rebuild_index where name = $1", i.Name)
			return err
		})
	})
}
