package record_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/projections/projtest"
)

// TestPlanOfMails: the mails about a batch are found by an index among the callbacks about its jobs.
func TestPlanOfMails(t *testing.T) {
	t.Parallel()
	db := projtest.DB(t)
	for _, sql := range []string{
		`insert into record.delivery (key, channel, about, batch_id, job_id, recipients, state, attempts, last_error)
			select 'k' || n, 'callback', 'job', 'bid0000000001', 'jid' || n, '{}', 'delivered', 1, '' from generate_series(1, 20000) n`,
		"analyze record.delivery",
	} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := db.Query(t.Context(), "explain (costs off) select * from record.delivery where batch_id = 'bid0000000001' and job_id = '' order by created_at, key")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || !strings.Contains(strings.Join(plan, "\n"), "delivery_of_batch") {
		t.Errorf("%v\n%s", err, strings.Join(plan, "\n"))
	}
}
