package daemon

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/space"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Profile is the profile of a collection.
type Profile = profile.Profile

// Profiles finds a profile by name; the error lists the names that there are.
// *profile.Set is one.
type Profiles interface {
	Get(name string) (profile.Profile, error)
	Names() []string
}

// live is the live state for steps, which only read it.
type live interface {
	Batch(ctx context.Context, id domain.BatchID) (eventstore.Loaded[domain.Batch], error)
	Job(ctx context.Context, id domain.JobID) (eventstore.Loaded[domain.Job], error)
	BatchJobs(ctx context.Context, id domain.BatchID, sub domain.Sub) ([]domain.JobID, error)
	Holds(ctx context.Context) (eventstore.Holds, error)
}

// Outbox reads the events that are committed and not in the log yet; see
// eventstore.Outbox.
type Outbox interface {
	Shards() int
	Unsent(ctx context.Context, shard int) (eventstore.Offset, error)
	Read(ctx context.Context, shard int, after eventstore.Offset, limit int) ([]eventstore.Item, error)
}

// Records keeps in SQL what steps must find again when they start over.
// *record.Records implements all of it; its comments hold the promises.
type Records struct {
	Identities
	Inventory
	Deliveries
	URLs
}

// Identities are the names and version numbers reserved for jobs.
type Identities interface {
	LookupLocalID(ctx context.Context, owner string, localIDs []string) (primary string, err error)
	BindLocalID(ctx context.Context, owner string, localIDs []string, primary string, job domain.JobID) (string, error)
	ReserveIdentifier(ctx context.Context, job domain.JobID, name string) (record.Identifier, error)
	ConfirmIdentifier(ctx context.Context, job domain.JobID, name string) error
	ReserveVersion(ctx context.Context, job domain.JobID, primary string) (version int, err error)
}

// Inventory has the intents and results of storing, and the stored objects.
type Inventory interface {
	BeginEffect(ctx context.Context, key, kind string) (record.Effect, error)
	FinishEffect(ctx context.Context, key string, result any) (record.Effect, error)
	RecordObject(ctx context.Context, o record.Object) (recorded bool, err error)
}

// Deliveries are the mails and callbacks, with their results.
type Deliveries interface {
	BeginDelivery(ctx context.Context, m record.Message) (record.Delivery, error)
	EndDelivery(ctx context.Context, key string, failure error, final bool) error
	BatchDeliveries(ctx context.Context, batch domain.BatchID) ([]record.Delivery, error)
}

// URLs keeps whole payload URLs, and finds them by their public forms.
type URLs interface {
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

// Meter counts how the steps of daemons end.
type Meter interface {
	Step(daemon, outcome string, took time.Duration)
}

// steps holds what the steps of all daemons work with.
type steps struct {
	*storage
	*payload.Source
	cfg   Config
	live  live
	space *space.Account
}

func newSteps(cfg Config) *steps {
	dirOf := func(name string) string {
		p, _ := cfg.Profiles.Get(name) // of a profile that is gone: the installation's
		return p.WorkingDir
	}
	return &steps{storage: newStorage(cfg), cfg: cfg, live: cfg.Handler.Live,
		Source: &payload.Source{Client: cfg.Fetch, Objects: cfg.Objects, URLs: cfg.Records, RetryDelay: cfg.RetryDelay},
		space:  space.New(cfg.Space, cfg.Log, cfg.Handler.Clock, dirOf)}
}
