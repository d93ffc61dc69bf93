package record_test

import (
	"context"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/projections/projtest"
)

// TestLeads: of all processes, one leads under a name, and within it one of all who ask. All
// leads of a process take one connection.
func TestLeads(t *testing.T) {
	t.Parallel()
	db := projtest.DB(t)
	one, other := record.New(db), record.New(db)
	lead := func(take func(context.Context) (func(), bool, error), want bool) func() {
		t.Helper()
		release, leads, err := take(t.Context())
		if release != nil {
			t.Cleanup(release) // a failed test closes the pool
		}
		if err != nil || leads != want {
			t.Fatalf("leads %v, %v; want %v", leads, err, want)
		}
		return release
	}
	before := db.Stat().AcquiredConns()
	mail := lead(one.LeadMail, true)
	lead(one.LeadMail, false)
	lead(other.LeadMail, false)
	audit, daily := lead(one.LeadAudit, true), lead(one.LeadDaily, true)
	if got := db.Stat().AcquiredConns() - before; got != 1 {
		t.Errorf("three leads take %d connections", got)
	}
	mail()
	mail() // a second time changes nothing
	again := lead(other.LeadMail, true)
	lead(one.LeadMail, false)
	lead(other.LeadAudit, false)
	again()
	audit()
	lead(other.LeadAudit, true)()
	daily()
	if got := db.Stat().AcquiredConns() - before; got != 0 {
		t.Errorf("%d connections are held for no lead", got)
	}
}

// TestLeadsOfALostSession: whose session ends may lead again, as any other.
func TestLeadsOfALostSession(t *testing.T) {
	t.Parallel()
	db := projtest.DB(t)
	r := record.New(db)
	audit, leads, err := r.LeadAudit(t.Context())
	if err != nil || !leads {
		t.Fatal(leads, err)
	}
	if _, err := db.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_locks
		where locktype = 'advisory' and granted and database = (select oid from pg_database where datname = current_database())`); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.LeadMail(t.Context()); err == nil {
		t.Error("a lead was given on a session that has ended")
	}
	mail, leads, err := r.LeadMail(t.Context())
	if err != nil || !leads {
		t.Fatal(leads, err)
	}
	mail()
	audit()
	again, leads, err := r.LeadAudit(t.Context())
	if err != nil || !leads {
		t.Fatal(leads, err)
	}
	again()
}
