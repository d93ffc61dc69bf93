package record_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
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
	r, ctx := open(t), context.Background()
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

	files, err := r.VersionFiles(ctx, "ark:/99999/x", 1)
	if diff := cmp.Diff(object(1, 1).Manifest.Files, files); err != nil || diff != "" {
		t.Errorf("files: %v\n%s", err, diff)
	}
	var stored []record.Stored
	for s, err := range r.BatchObjects(ctx, domain.NewBatchID(1)) {
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, s)
	}
	want := record.Stored{Object: "ark:/99999/x", Version: 1, Collection: "maps", ErcWhat: "A map", Job: domain.NewJobID(1), Batch: domain.NewBatchID(1),
		ManifestKey: "k/manifest", ManifestSHA256: "cc", Files: 2, Bytes: 9, StoredAt: object(1, 1).Manifest.Created}
	second := want
	second.Version, second.Job = 2, domain.NewJobID(2)
	if diff := cmp.Diff([]record.Stored{want, second}, stored, cmpopts.IgnoreFields(record.Stored{}, "RecordedAt")); diff != "" {
		t.Error(diff)
	}
}
