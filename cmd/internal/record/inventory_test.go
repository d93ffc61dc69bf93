package record_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
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

// query reads rows whose columns are the fields of T.
func query[T any](ctx context.Context, db *pgxpool.Pool, sql string) ([]T, error) {
	rows, err := db.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[T])
}
