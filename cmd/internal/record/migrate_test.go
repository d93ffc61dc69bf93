package record_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/migrations"
	"github.com/accession-ingest/accession/projections/projtest"
)

// TestLocalIDsGetTheirCollection: names that were bound before collections were kept
// become names within the collection of their object; one whose object never came into
// the inventory stays a name in all collections of its owner.
func TestLocalIDsGetTheirCollection(t *testing.T) {
	t.Parallel()
	db, ctx := projtest.Empty(t), t.Context()
	before := fstest.MapFS{}
	all, err := fs.Glob(migrations.Record(), "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if data, err := fs.ReadFile(migrations.Record(), name); err != nil {
			t.Fatal(err)
		} else if name < "20261122083000" {
			before[name] = &fstest.MapFile{Data: data}
		}
	}
	if _, err := migrations.Up(ctx, db, migrations.RecordSchema, before); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(ctx, `
		insert into record.object (primary_identifier, owner, collection, current_version, erc_who, erc_what, erc_when, local_id)
		values ('ark:/99999/fk4a', 'us', 'maps', 1, '', '', '', '{a}');
		insert into record.local_id (owner, local_id, primary_identifier, job_id)
		values ('us', 'a', 'ark:/99999/fk4a', 'jid0000000001'), ('us', 'b', 'ark:/99999/fk4b', 'jid0000000002')`); err != nil {
		t.Fatal(err)
	}
	if _, err := record.Migrate(ctx, db); err != nil {
		t.Fatal(err)
	}
	r := record.New(db)
	for _, c := range []struct{ collection, local, want string }{
		{"maps", "a", "ark:/99999/fk4a"}, {"charts", "a", ""}, {"maps", "b", "ark:/99999/fk4b"}, {"charts", "b", "ark:/99999/fk4b"},
	} {
		got, err := r.LookupLocalID(ctx, record.Scope{Owner: "us", Collection: c.collection}, []string{c.local})
		if err != nil || got != c.want {
			t.Errorf("%s in %s leads to %q: %v", c.local, c.collection, got, err)
		}
	}
}

// TestAuditEntriesStay: the role of the service adds entries, and neither changes nor
// removes one.
func TestAuditEntriesStay(t *testing.T) {
	t.Parallel()
	pool := projtest.Empty(t)
	if err := migrations.MakeRoles(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if _, err := record.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		right string
		want  bool
	}{{"select", true}, {"insert", true}, {"update", false}, {"delete", false}, {"truncate", false}} {
		var got bool
		if err := pool.QueryRow(t.Context(), "select has_table_privilege('accession_service', 'record.audit_entry', $1)", c.right).Scan(&got); err != nil || got != c.want {
			t.Errorf("the service has %s: %t, want %t (%v)", c.right, got, c.want, err)
		}
	}
}
