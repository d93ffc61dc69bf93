// Package projtest returns each test a PostgreSQL database of its own, with both
// schemas in place. It is made from a template that is migrated once for each
// state of the migrations, which takes a tenth of a second instead of one.
package projtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/migrations"
	"github.com/accession-ingest/accession/projections"
)

// Env names the environment variable with the address of a server on which tests
// may create and drop databases.
const Env = "ACCESSION_TEST_POSTGRES"

const (
	deadline = 2 * time.Minute
	maxConns = 8
)

// DB returns a migrated database that no other test uses and that is gone when the
// test ends. The test fails when there is no server.
func DB(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return create(t, template(t))
}

// Empty returns a database without any schema, for tests of the migrations.
func Empty(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return create(t, "template0")
}

func address(t testing.TB) string {
	t.Helper()
	addr := os.Getenv(Env)
	if addr == "" {
		t.Fatalf("%s is not set: run the tests through `make test` or `accession stack exec -- go test ./...`", Env)
	}
	return addr
}

func create(t testing.TB, from string) *pgxpool.Pool {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	random := make([]byte, 8)
	_, _ = rand.Read(random) // never fails
	name := "accession_test_" + hex.EncodeToString(random)
	admin(ctx, t, fmt.Sprintf("create database %s template %s", name, from))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		admin(ctx, t, fmt.Sprintf("drop database if exists %s with (force)", name))
	})
	pool := open(ctx, t, name)
	t.Cleanup(pool.Close)
	return pool
}

func open(ctx context.Context, t testing.TB, name string) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(address(t))
	if err != nil {
		t.Fatalf("%s: %v", Env, err)
	}
	cfg.ConnConfig.Database = name
	cfg.MaxConns = maxConns
	projections.InUTC(cfg)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		t.Fatalf("open database %s: %v", name, err)
	}
	return pool
}

// admin runs statements on the server's own database.
func admin(ctx context.Context, t testing.TB, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(ctx, address(t))
	if err != nil {
		t.Fatalf("connect to %s: %v", Env, err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

var (
	templateOnce sync.Once
	templateName string
)

// template makes the template once, whichever process comes first. It is built
// under another name, so that a process that dies on the way leaves no half one.
func template(t testing.TB) string {
	t.Helper()
	addr := address(t)
	templateOnce.Do(func() {
		name := "accession_template_" + fingerprint(t)
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		conn, err := pgx.Connect(ctx, addr)
		if err != nil {
			t.Fatalf("connect to %s: %v", Env, err)
		}
		defer func() { _ = conn.Close(ctx) }()
		exec := func(sql string) {
			if _, err := conn.Exec(ctx, sql); err != nil {
				t.Fatalf("make the template database: %s: %v", sql, err)
			}
		}
		exec("select pg_advisory_lock(hashtext('accession test template'))") // until conn closes
		var exists bool
		if err := conn.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", name).Scan(&exists); err != nil {
			t.Fatalf("look for the template database: %v", err)
		}
		if !exists {
			building := name + "_new"
			exec("drop database if exists " + building + " with (force)")
			exec("create database " + building + " template template0")
			migrate(ctx, t, building)
			exec("alter database " + building + " rename to " + name)
		}
		templateName = name
	})
	if templateName == "" {
		t.Fatal("the template database could not be made: see the first failed test")
	}
	return templateName
}

func migrate(ctx context.Context, t testing.TB, name string) {
	t.Helper()
	pool := open(ctx, t, name)
	defer pool.Close()
	for schema, files := range sets() {
		if _, err := migrations.Up(ctx, pool, schema, files); err != nil {
			t.Fatal(err)
		}
	}
}

func sets() map[string]fs.FS {
	return map[string]fs.FS{
		migrations.ProjectionSchema: migrations.Projection(),
		migrations.RecordSchema:     migrations.Record(),
	}
}

// format counts changes of what surrounds the migrations in a template.
const format = 3

// fingerprint tells one state of the migrations from another.
func fingerprint(t testing.TB) string {
	t.Helper()
	sum := sha256.New()
	_, _ = fmt.Fprintln(sum, format)
	for _, files := range []fs.FS{migrations.Projection(), migrations.Record()} {
		err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := fs.ReadFile(files, path)
			_, _ = fmt.Fprintf(sum, "%s %d\n%s", path, len(data), data)
			return err
		})
		if err != nil {
			t.Fatalf("read the migrations: %v", err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}
