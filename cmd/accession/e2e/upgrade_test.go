package e2e

import (
	"strings"
	"testing"
)

// TestProgramBeforeItsMigration: a program whose migrations are missing does not
// serve and says what to do; the one before it is not disturbed.
func TestProgramBeforeItsMigration(t *testing.T) {
	t.Parallel()
	in := newForProcesses(t, "attempts: 20, timeout: 60s")
	old := in.serve()
	old.works()
	var last string
	in.must(in.db.QueryRow(t.Context(), `delete from accession.schema_version
		where version_id = (select max(version_id) from accession.schema_version) returning version_id::text`).Scan(&last))
	out, err := in.command("serve").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "1 migrations are missing from the database") || !strings.Contains(string(out), "`accession migrate`") {
		t.Errorf("%v\n%s", err, out)
	}
	_, err = in.db.Exec(t.Context(), "insert into accession.schema_version (version_id, is_applied) values ($1::bigint, true)", last)
	in.must(err)
	f := newFiles(t, 1, -1)
	in.ended(in.submitFiles(f), 1)
	old.stop()
	in.proven()
	if text := old.log.tail(1 << 20); strings.Contains(text, `"level":"ERROR"`) {
		t.Error("the old program was disturbed")
	}
	serves := in.serve()
	serves.works()
	serves.stop()
}
