package projections

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/migrations"
)

// While a rebuild fills its tables they have primary keys only; the definitions of
// all other indexes wait in a table of their own, so that a rebuild which was
// interrupted knows what is missing.
const (
	putAside = `
create table accession_next.rebuild_index as
select c.relname::text as name, replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ') as definition
from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
where c.relnamespace = 'accession_next'::regnamespace and not i.indisprimary and not t.relispartition`
	takeOut = `
do $$
declare it record;
begin
    for it in select name from accession_next.rebuild_index loop
        execute format('drop index accession_next.%I', it.name);
    end loop;
end
$$`
)

func (r *rebuild) unindex(ctx context.Context) error {
	return pgx.BeginFunc(ctx, r.cfg.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, putAside); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, takeOut)
		return err
	})
}

// indexWorkers is how many indexes are built, or tables looked through, at once.
const indexWorkers = 2

// index builds what is missing, and tells PostgreSQL what is in the tables.
func (r *rebuild) index(ctx context.Context) error {
	var there bool
	if err := r.cfg.Pool.QueryRow(ctx, "select to_regclass('accession_next.rebuild_index') is not null").Scan(&there); err != nil || !there {
		return err
	}
	rows, err := r.cfg.Pool.Query(ctx, "select name, definition from accession_next.rebuild_index order by name")
	if err != nil {
		return err
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[aside])
	if err != nil {
		return err
	}
	if err := abreast(list, func(i aside) error { return r.buildIndex(ctx, i) }); err != nil {
		return err
	}
	// The history comes first: it takes about as long as all others together.
	err = abreast(compared, func(table string) error {
		_, err := r.cfg.Pool.Exec(ctx, fmt.Sprintf("analyze %s.%s", migrations.Next.Tables, table))
		return err
	})
	if err != nil {
		return err
	}
	_, err = r.cfg.Pool.Exec(ctx, "drop table accession_next.rebuild_index") // last: a resumed rebuild does what is missing
	return err
}

// abreast does something with all of a list, some at once, and gives the first
// error of each worker, which ends that worker.
func abreast[T any](list []T, do func(T) error) error {
	todo := make(chan T, len(list))
	for _, one := range list {
		todo <- one
	}
	close(todo)
	errs := make([]error, indexWorkers)
	var all sync.WaitGroup
	for w := range errs {
		all.Go(func() {
			for one := range todo {
				if errs[w] = do(one); errs[w] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// aside is an index that is still to be built.
type aside struct{ Name, Definition string }

func (r *rebuild) buildIndex(ctx context.Context, i aside) error {
	return pgx.BeginFunc(ctx, r.cfg.Pool, func(tx pgx.Tx) error {
		for _, sql := range []string{
			"set local maintenance_work_mem = '256MB'", "set local synchronous_commit = off", i.Definition,
		} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, "delete from accession_next.rebuild_index where name = $1", i.Name)
		return err
	})
}
