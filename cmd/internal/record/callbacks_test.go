package record_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/projtest"
)

// TestListOfCallbacks: page by page, of all or of some, the callbacks about the jobs of a batch are
// each there once, newest first, also those of one moment; no mail is, and nothing of another batch.
func TestListOfCallbacks(t *testing.T) {
	t.Parallel()
	db, ctx := projtest.DB(t), t.Context()
	if _, err := db.Exec(ctx, `insert into record.delivery (key, channel, about, batch_id, job_id, recipients, state, attempts, last_error, created_at)
		select 'k' || n * 7919 % 1000, case when n % 50 = 0 then 'mail' else 'callback' end, 'job', 'bid000000000' || 1 + n / 30 % 2, 'jid000000000' || 1 + n % 5, '{https://example.org/done}',
			(array['pending', 'delivered', 'failed'])[1 + n % 3], 1, '', timestamptz '2026-11-30 10:00:00Z' + n / 11 * interval '1 microsecond' from generate_series(0, 199) n`); err != nil {
		t.Fatal(err)
	}
	r, middle := record.New(db), time.Date(2026, 11, 30, 10, 0, 0, 9000, time.UTC)
	for where, f := range map[string]record.CallbackFilter{
		"true":                        {},
		"state = 'failed'":            {State: record.DeliveryFailed},
		"job_id = 'jid0000000003'":    {Job: "jid0000000003"},
		"created_at >= " + at(middle): {Since: middle},
		"created_at < " + at(middle):  {Until: middle},
	} {
		rows, err := db.Query(ctx, "select key from record.delivery where batch_id = 'bid0000000001' and channel = 'callback' and "+where+" order by created_at desc, key desc")
		if err != nil {
			t.Fatal(err)
		}
		want, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || len(want) < 10 {
			t.Fatalf("%s: %v %v", where, want, err)
		}
		f.Batch = domain.NewBatchID(1)
		if got := walked(ctx, t, r, f, 7); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", where, got, want)
		}
	}
}

func at(t time.Time) string { return fmt.Sprintf("timestamptz '%s'", t.Format(time.RFC3339Nano)) }

// walked returns the keys of all callbacks, of which a page has some.
func walked(ctx context.Context, t *testing.T, r *record.Records, f record.CallbackFilter, limit int) (keys []string) {
	t.Helper()
	after := ""
	for {
		page, err := r.Callbacks(ctx, f, after, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page {
			keys = append(keys, d.Key)
		}
		if len(page) < limit {
			return keys
		}
		after = page[limit-1].Key
	}
}
