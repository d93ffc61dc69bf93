package record_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/projtest"
)

func object(job int64, version int) record.Object {
	return record.Object{
		Owner: "owner", Collection: "maps", ProfileName: "p", Submitter: "eve", Metadata: domain.Metadata{ErcWhat: "A map"},
		Manifest: record.Manifest{
			Object: "ark:/99999/x", Version: version, Job: domain.NewJobID(job), Batch: domain.NewBatchID(1),
			Created: domain.At(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), LocalIDs: []string{"l"}, Bytes: 9,
			Files: []record.File{
				{Kind: "producer", Name: "é.csv", Key: "k/1", Size: 4, SHA256: "aa", MimeType: "text/csv"},
				{Kind: "system", Name: "erc.txt", Key: "k/2", Size: 5, SHA256: "bb"},
			},
		},
		ManifestKey: "k/manifest", ManifestSHA256: "cc",
	}
}

// TestRecordObject: recorded once, whoever tries how often.
// Shows: P5
func TestRecordObject(t *testing.T) {
	t.Parallel()
	db, ctx := projtest.DB(t), context.Background()
	r := record.New(db)
	if _, err := r.RecordObject(ctx, object(1, 1)); code(err) != record.CodeInventoryConflict {
		t.Fatalf("a version that was not reserved: %v", err)
	}
	for job := range int64(2) {
		if _, err := r.ReserveVersion(ctx, domain.NewJobID(job+1), "ark:/99999/x"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.RecordObject(ctx, object(1, 2)); code(err) != record.CodeInventoryConflict {
		t.Errorf("a version that another job has reserved: %v", err)
	}
	recorded := make([]bool, 20)
	each(len(recorded), func(i int) {
		var err error
		if recorded[i], err = r.RecordObject(ctx, object(1, 1)); err != nil {
			t.Error(err)
		}
	})
	n := 0
	for _, yes := range recorded {
		if yes {
			n++
		}
	}
	if n != 1 {
		t.Errorf("recorded %d times", n)
	}
	if _, err := r.RecordObject(ctx, object(1, 2)); code(err) != record.CodeInventoryConflict {
		t.Errorf("another job's version: %v", err)
	}
	other := object(1, 1)
	other.ManifestSHA256 = "dd"
	if _, err := r.RecordObject(ctx, other); code(err) != record.CodeInventoryConflict {
		t.Errorf("another manifest: %v", err)
	}
	if _, err := r.RecordObject(ctx, object(2, 2)); err != nil {
		t.Fatal(err)
	}

	files, err := query[record.File](ctx, db, `select kind, name, key, size, sha256, mime_type from record.object_file where version = 1 order by kind, name`)
	if diff := cmp.Diff(object(1, 1).Manifest.Files, files); err != nil || diff != "" {
		t.Errorf("files: %v\n%s", err, diff)
	}
	type stored struct {
		Version                                      int
		Collection, ErcWhat, Job, Batch, Key, SHA256 string
		Files, Bytes                                 int64
		StoredAt                                     time.Time
	}
	got, err := query[stored](ctx, db, `select version, collection, erc_what, job_id, batch_id, manifest_key, manifest_sha256, files, bytes, stored_at
		from record.object_version join record.object using (primary_identifier) order by version`)
	want := stored{1, "maps", "A map", string(domain.NewJobID(1)), string(domain.NewBatchID(1)), "k/manifest", "cc", 2, 9, object(1, 1).Manifest.Created.Time}
	second := want
	second.Version, second.Job = 2, string(domain.NewJobID(2))
	if diff := cmp.Diff([]stored{want, second}, got); err != nil || diff != "" {
		t.Errorf("versions: %v\n%s", err, diff)
	}
	if n, err := r.RecordedJobs(ctx, []string{second.Job, "jid0000000003"}); err != nil || len(n) != 1 || n[domain.NewJobID(2)] != 2 {
		t.Errorf("recorded jobs: %v, %v", n, err)
	}
}

// TestInventoryKeepsItsConstraints: whatever writes the inventory, a file has a version, a version an
// object and a job of its own, and each is there once; so are identifiers and local ids.
func TestInventoryKeepsItsConstraints(t *testing.T) {
	t.Parallel()
	db, ctx := projtest.DB(t), context.Background()
	r := record.New(db)
	_, err := r.ReserveVersion(ctx, domain.NewJobID(1), "ark:/99999/x")
	if err == nil {
		_, err = r.RecordObject(ctx, object(1, 1))
	}
	if err == nil {
		_, err = db.Exec(ctx, "insert into record.identifier (job_id, name, state) values ('jid1', 'ark:/99999/x', 'done'); insert into record.identifier_collection (primary_identifier, collection, job_id) values ('ark:/99999/x', 'maps', 'jid1'); "+
			"insert into record.local_id (owner, collection, local_id, primary_identifier, job_id) values ('owner', 'maps', 'l', 'ark:/99999/x', 'jid1')")
	}
	if err != nil {
		t.Fatal(err)
	}
	const missing, twice = "23503", "23505"      // SQLSTATE
	again := func(table, values string) string { // a row once more, with other values
		return "insert into record." + table + " select (jsonb_populate_record(r, '" + values + "')).* from record." + table + " r limit 1"
	}
	for sql, want := range map[string]string{
		again("object", "{}"):                                  twice,
		again("object_version", "{}"):                          twice,
		again("object_version", `{"version": 2}`):              twice, // of the same job
		again("object_version", `{"job_id": "jid0000000002"}`): twice,
		again("object_version", `{"primary_identifier": "ark:/99999/y", "job_id": "jid0000000002"}`): missing,
		again("object_file", "{}"):                                     twice,
		again("object_file", `{"version": 2}`):                         missing,
		again("object_file", `{"primary_identifier": "ark:/99999/y"}`): missing,
		again("identifier", `{"job_id": "jid2"}`):                      twice,
		again("identifier", `{"name": "ark:/99999/y"}`):                twice,
		again("identifier_collection", `{"collection": "films"}`):      twice,
		again("local_id", `{"primary_identifier": "ark:/99999/y"}`):    twice,
		again("version_reservation", `{"job_id": "jid0000000002"}`):    twice,
		"delete from record.object":                                    missing,
		"delete from record.object_version":                            missing,
	} {
		_, err := db.Exec(ctx, sql)
		if refused, is := errors.AsType[*pgconn.PgError](err); !is || refused.Code != want {
			t.Errorf("%s: %v, want %s", sql, err, want)
		}
	}
}

// query reads rows whose columns are the fields of T.
func query[T any](ctx context.Context, db *pgxpool.Pool, sql string) ([]T, error) {
	rows, err := db.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[T])
}
