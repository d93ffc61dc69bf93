package daemon

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/delivery"
	"github.com/accession-ingest/accession/cmd/internal/daemon/entrust"
	"github.com/accession-ingest/accession/cmd/internal/daemon/history"
	"github.com/accession-ingest/accession/cmd/internal/daemon/naming"
	"github.com/accession-ingest/accession/cmd/internal/daemon/order"
	"github.com/accession-ingest/accession/cmd/internal/daemon/ownstep"
	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/report"
	"github.com/accession-ingest/accession/cmd/internal/daemon/space"
	"github.com/accession-ingest/accession/cmd/internal/daemon/storage"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/replica"
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
	Mark(ctx context.Context, shard int) (eventstore.Mark, error)
	Read(ctx context.Context, shard int, after eventstore.Offset, limit int) ([]eventstore.Item, error)
}

// Records keeps in SQL what steps must find again when they start over.
// *record.Records implements all of it; its comments hold the promises.
type Records struct {
	Identities
	Inventory
	Deliveries
	URLs
	Replicas replica.Records // nil where no profile names replicas
}

// Identities are the names and version numbers reserved for jobs.
type Identities interface {
	naming.Records
	ReserveVersion(ctx context.Context, job domain.JobID, primary string) (version int, err error)
	ReservedVersion(ctx context.Context, job domain.JobID) (version int, err error)
}

// Inventory has the intents and results of storing, the stored objects, and the results of
// own steps.
type Inventory interface {
	entrust.Records
	RecordObject(ctx context.Context, o record.Object) (recorded bool, err error)
	RecordedObject(ctx context.Context, job domain.JobID) (o domain.StoredObject, found bool, err error)
	CurrentVersion(ctx context.Context, primary string, below int) (int, error)
	RecordedVersions(ctx context.Context, jobs []string) (map[domain.JobID]int, error)
	ownstep.Records
}

// Deliveries are the mails and callbacks, with their results.
type Deliveries = delivery.Records

// URLs keeps whole payload URLs and the digests of manifests, and finds both again.
type URLs interface {
	KeepURLs(ctx context.Context, full []string) (public []string, err error)
	payload.Records
}

// Mailer takes a mail for delivery.
type Mailer = delivery.Mailer

// Meter counts how the steps of daemons end.
type Meter interface {
	Step(daemon, outcome string, took time.Duration)
}

// steps holds what the steps of all daemons work with.
type steps struct {
	*storage.Storage
	*payload.Source
	cfg    Config
	live   live
	space  *space.Account
	order  *order.Jobs
	memory *payload.Memory
}

func newSteps(cfg Config) *steps {
	dirOf := func(name string) string {
		p, _ := cfg.Profiles.Get(name) // of a profile that is gone: the installation's
		return p.WorkingDir
	}
	return &steps{Storage: storage.New(cfg.Objects, cfg.Work, cfg.Installation), cfg: cfg, live: cfg.Handler.Live,
		Source: &payload.Source{Client: cfg.Fetch, Objects: cfg.Objects, Records: cfg.Records, ManifestTimeout: cfg.ManifestTimeout, StepTimeout: cfg.StepTimeout},
		space:  space.New(cfg.Space, cfg.Log, cfg.Handler.Clock, dirOf),
		memory: payload.NewMemory(cfg.ManifestMemory),
		order:  order.New(cfg.Order, cfg.Handler.Live, cfg.Records.ReservedVersion, cfg.Handler.Clock)}
}

// reports makes the reports of batches.
func (s *steps) reports() report.Maker {
	return report.Maker{Live: s.live, Source: s.Source, History: history.Source{Log: s.cfg.Files.Log, Outbox: s.cfg.Outbox},
		Versions: s.cfg.Records.RecordedVersions, Clock: s.cfg.Handler.Clock}
}
