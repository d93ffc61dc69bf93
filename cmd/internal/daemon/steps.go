package daemon

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Profile is the profile of a collection.
type Profile = profile.Profile

// live is what steps may do with the live state: read it, and reserve ids.
type live interface {
	Batch(ctx context.Context, id domain.BatchID) (eventstore.Loaded[domain.Batch], error)
	Job(ctx context.Context, id domain.JobID) (eventstore.Loaded[domain.Job], error)
	BatchJobs(ctx context.Context, id domain.BatchID, sub domain.Sub) ([]domain.JobID, error)
	Holds(ctx context.Context) (eventstore.Holds, error)
}

// steps holds what the steps of all daemons work with.
type steps struct {
	*places
	cfg   Config
	live  live
	space *space
}

func newSteps(cfg Config) *steps {
	return &steps{places: newPlaces(cfg), cfg: cfg, live: cfg.Handler.Live, space: newSpace(cfg)}
}

// Profiles finds a profile by name; the error names those that there are.
// *profile.Set is one.
type Profiles interface {
	Get(name string) (profile.Profile, error)
	Names() []string
}

// Outbox has the events that are committed and not in the log yet; see
// eventstore.Outbox.
type Outbox interface {
	Shards() int
	Unsent(ctx context.Context, shard int) (eventstore.Offset, error)
	Read(ctx context.Context, shard int, after eventstore.Offset, limit int) ([]eventstore.Item, error)
}

// Records keeps in SQL what steps must find again when they start over.
// *record.Records is one; its comments hold the promises.
type Records interface {
	LookupLocalID(ctx context.Context, owner string, localIDs []string) (primary string, err error)
	BindLocalID(ctx context.Context, owner string, localIDs []string, primary string, job domain.JobID) (string, error)
	ReserveIdentifier(ctx context.Context, job domain.JobID, name string) (record.Identifier, error)
	ConfirmIdentifier(ctx context.Context, job domain.JobID, name string) error
	ReserveVersion(ctx context.Context, job domain.JobID, primary string) (version int, err error)
	BeginEffect(ctx context.Context, key, kind string) (record.Effect, error)
	FinishEffect(ctx context.Context, key string, result any) (record.Effect, error)
	RecordObject(ctx context.Context, o record.Object) (recorded bool, err error)
	BeginDelivery(ctx context.Context, m record.Message) (record.Delivery, error)
	EndDelivery(ctx context.Context, key string, failure error, final bool) error
	KeepURLs(ctx context.Context, full []string) (public []string, err error)
	FullURL(ctx context.Context, public string) (string, error)
}

// Mailer takes a mail for delivery. The same key twice is one mail.
type Mailer interface {
	Send(ctx context.Context, m Mail) error
}

// Mail is one mail in plain text.
type Mail struct {
	Key           string // stable over attempts
	From          string
	To            []string
	Subject, Text string
	Date          time.Time // when it was first to be sent, the same on every attempt
}
