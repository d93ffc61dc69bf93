package record_test

import (
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
)

// TestKeepDeposit: the same payload of the same submitter for the same profile is
// recognised, however often it is kept.
func TestKeepDeposit(t *testing.T) {
	t.Parallel()
	r := open(t)
	same := domain.Submission{ProfileName: "maps", Submitter: "maria", DigestAlgorithm: "sha256", DigestValue: "aa"}
	but := func(change func(*domain.Submission)) domain.Submission { s := same; change(&s); return s }
	for i, c := range []struct {
		batch int64
		s     domain.Submission
		want  domain.BatchID
	}{
		{1, same, ""},
		{1, same, ""},
		{2, but(func(s *domain.Submission) { s.Submitter = "ana" }), ""},
		{3, but(func(s *domain.Submission) { s.ProfileName = "charts" }), ""},
		{4, but(func(s *domain.Submission) { s.DigestValue = "bb" }), ""},
		{5, but(func(s *domain.Submission) { s.DigestAlgorithm = "md5" }), ""},
		{6, same, domain.NewBatchID(1)},
		{7, same, domain.NewBatchID(6)},
		{6, same, domain.NewBatchID(1)},
		{5, same, domain.NewBatchID(1)}, // its other digest is known now
		{8, but(func(s *domain.Submission) { s.DigestAlgorithm = "md5" }), domain.NewBatchID(5)},
	} {
		if got, err := r.KeepDeposit(t.Context(), domain.NewBatchID(c.batch), c.s); err != nil || got != c.want {
			t.Errorf("%d: %q, %v; want %q", i, got, err, c.want)
		}
	}
}

// A deposit is the same under its key however it came: what says so is known of some
// requests only, and the digest is made again from the event.
func TestInputIsWhatIsDeposited(t *testing.T) {
	t.Parallel()
	sub := domain.Submission{Submitter: "ana", PayloadURL: "https://h/x"}
	want, err := record.InputSHA256(sub)
	if err != nil {
		t.Fatal(err)
	}
	sub.SubmissionID, sub.Queue, sub.User, sub.Received, sub.ProfileVersion = "d-1", "metadata", "olga", domain.At(time.Now()), "v2"
	if got, err := record.InputSHA256(sub); err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	sub.ErcWhat = "Tides"
	if got, err := record.InputSHA256(sub); err != nil || got == want {
		t.Errorf("another title has the same digest, %v", err)
	}
}

// TestKeepCommand: what was kept first under the key of a submitter stays, and its batch
// counts among the highest ids.
// Shows: P19
func TestKeepCommand(t *testing.T) {
	t.Parallel()
	r, ctx := open(t), t.Context()
	first := record.Command{Submitter: "maria", Key: "k", InputSHA256: "aa", Batch: domain.NewBatchID(7)}
	for _, c := range []struct{ keep, want record.Command }{
		{first, first},
		{record.Command{Submitter: "maria", Key: "k", InputSHA256: "bb", Batch: domain.NewBatchID(8)}, first},
		{record.Command{Submitter: "ana", Key: "k", InputSHA256: "bb", Batch: domain.NewBatchID(6)}, record.Command{Submitter: "ana", Key: "k", InputSHA256: "bb", Batch: domain.NewBatchID(6)}},
	} {
		if got, err := r.KeepCommand(ctx, c.keep); err != nil || got != c.want {
			t.Errorf("kept %+v, %v; want %+v", got, err, c.want)
		}
		if got, found, err := r.Command(ctx, c.want.Submitter, "k"); err != nil || !found || got != c.want {
			t.Errorf("found %+v, %v, %v; want %+v", got, found, err, c.want)
		}
	}
	if _, found, err := r.Command(ctx, "maria", "other"); found || err != nil {
		t.Errorf("an unknown key: %v, %v", found, err)
	}
	if batch, _, err := r.HighestIDs(ctx); batch != first.Batch || err != nil {
		t.Errorf("the highest id is %s, %v", batch, err)
	}
}
