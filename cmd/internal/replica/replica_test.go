package replica

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// kept are records in memory: what is pending is so until an attempt was made.
type kept struct {
	pending []record.Replica
	failed  map[string]error // the end of the last attempt, by location
}

func (k *kept) RequireReplicas(context.Context, record.Replicated, []string) error { return nil }

func (k *kept) SettleReplica(_ context.Context, _ record.Replicated, location string, failed error) error {
	k.failed[location], k.pending = failed, nil
	return nil
}

func (k *kept) Withdrawn(context.Context, string) (bool, error) { return false, nil }

func (k *kept) ForgetReplica(context.Context, record.VersionID, string) error { return nil }

func (k *kept) PendingReplicas(context.Context, int) ([]record.Replica, error) { return k.pending, nil }

func (k *kept) LeadReplicas(context.Context) (release func(), leads bool, err error) {
	return func() {}, true, nil
}

// Get implements the profiles.
func (k *kept) Get(string) (profile.Profile, error) {
	return profile.Profile{Replicas: []string{hanging, other}}, nil
}

// Replicas that hang.
const hanging, other = "s3://hanging", "s3://other"

// TestCopiesHaveABound: a replica that hangs holds a job for half a minute, and as long as its
// bytes take at 10 MiB a second, and then is pending. What copies the pending ones has as long, and
// twice as long with each attempt that failed, 128 times as long at most.
func TestCopiesHaveABound(t *testing.T) {
	t.Parallel()
	const key, bytes, once = "objects/x/v1/manifest.json", 100 << 20, 40 * time.Second
	from, err := store.Open(t.Context(), t.TempDir())
	if err == nil {
		_, err = from.Put(t.Context(), key, strings.NewReader(`{"total_bytes":104857600}`))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	synctest.Test(t, func(t *testing.T) {
		records := &kept{failed: map[string]error{}}
		keeper := Keeper{Records: records, Log: slog.New(slog.DiscardHandler), Open: func(ctx context.Context, _ string) (*store.Store, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		took := func(what string, want time.Duration, do func() error) {
			t.Helper()
			begun := time.Now()
			if err := do(); err != nil || time.Since(begun) != want || records.failed[hanging] == nil {
				t.Errorf("%s: %v after %v, want %v; %v", what, err, time.Since(begun), want, records.failed)
			}
			clear(records.failed)
		}
		took("a job", once, func() error {
			return keeper.Keep(t.Context(), from, "jid0000000001", domain.StoredObject{Bytes: bytes}, profile.Profile{Replicas: []string{hanging, other}})
		})
		p := &Pending{Keeper: keeper, All: records, Profiles: records, From: func(context.Context, string) (*store.Store, error) { return from, nil }}
		for attempts, want := range map[int64]time.Duration{0: once, 1: 2 * once, 3: 8 * once, 7: 128 * once, 1000: 128 * once} {
			r := record.Replica{Location: hanging, Attempts: attempts}
			r.ManifestKey = key
			records.pending = []record.Replica{r}
			took("pending", want, func() error { return p.Once(t.Context()) })
		}
	})
}
