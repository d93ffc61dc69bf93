package wire

import (
	"context"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/bulk"
	"github.com/accession-ingest/accession/cmd/internal/app/withdrawal"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/daemon"
	"github.com/accession-ingest/accession/cmd/internal/daemon/delivery"
	"github.com/accession-ingest/accession/cmd/internal/daemon/originals"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/mint/service"
	"github.com/accession-ingest/accession/cmd/internal/ops"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/stepservice"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/cmd/internal/sweep"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/eventstore/relay"
	"github.com/accession-ingest/accession/projections/query"
)

// Daemons returns the runner of the consumer daemons with all that they need.
func (in *Installation) Daemons(ctx context.Context) (*daemon.Runner, error) {
	c := daemon.Config{
		Installation: in.cfg.Instance, Log: in.log, Meter: in.metrics, Workers: in.cfg.Workers,
		Grace: in.cfg.StopGrace, RetryDelay: in.cfg.RetryDelay, RetryMaxDelay: in.cfg.RetryMaxDelay,
		ManifestTimeout: in.cfg.FetchManifestTimeout, StepTimeout: in.cfg.StepTimeout, SpaceReserve: int64(in.cfg.SpaceReserve),
		SpaceCycle: in.cfg.SpaceCycle, JanitorInterval: in.cfg.JanitorInterval, Retention: in.cfg.Retention, FailedRetention: in.cfg.FailedRetention, FilesRetention: in.cfg.FilesRetention,
		ProcessingAttempts: in.cfg.MaxProcessingAttempts, HandOver: in.cfg.HandOver, HostPermits: in.cfg.HostPermits, SubmitterPermits: in.cfg.SubmitterPermits,
		CallbackSecrets: in.cfg.SecretsOfCallbacks(), MinterCredentials: map[string]service.Credentials{}, ServiceCredentials: map[string]stepservice.Credentials{},
	}
	for name, account := range in.cfg.AccountsOfMinters() {
		c.MinterCredentials[name] = service.Credentials(account)
	}
	for name, account := range in.cfg.AccountsOfServices() {
		c.ServiceCredentials[name] = stepservice.Credentials(account)
	}
	var live *LiveState
	var profiles *profile.Set
	var pool *pgxpool.Pool
	err := openAll(ctx, into(&live, in.LiveState), into(&c.Handler, in.Handler), into(&c.Files, in.FileHandler), into(&profiles, in.profileSet),
		into(&pool, in.Pool), into(&c.Objects, in.Uploads), into(&c.Work, in.Work), into(&c.Fetch, in.client))
	if err != nil {
		return nil, err
	}
	c.Claims, c.Space, c.Order, c.Hosts, c.Outbox, c.Queues = live, live, live, live, live, live
	records := meteredRecords{record.New(pool), in.metrics}
	c.Profiles, c.Records = profiles, daemon.Records{Identities: records, Inventory: records, Deliveries: records, URLs: records, Replicas: records}
	c.Mail, c.Rests = in.mailer(records.Records), records.HostPauses
	for _, w := range in.cfg.Unused(profiles.Names()) {
		in.log.Warn("a line of the settings is not used", "line", w)
	}
	in.runner, err = daemon.New(c)
	return in.runner, err
}

// Relay returns the relay, which carries events from the outbox to the log.
func (in *Installation) Relay(ctx context.Context) (*relay.Relay, error) {
	var live *LiveState
	var log eventstore.Log
	if err := openAll(ctx, into(&live, in.LiveState), into(&log, in.Log), in.checkCopies); err != nil {
		return nil, err
	}
	in.relay = &relay.Relay{Outbox: live, Log: log, Logger: in.log.With("role", "relay")}
	return in.relay, nil
}

// Sweeper returns the sweeper, which ends overdue attempts, opens and ends slots, and returns
// entries whose workers are gone.
func (in *Installation) Sweeper(ctx context.Context) (*sweep.Sweeper, error) {
	var files *files.Handler
	var db query.DB
	var live *LiveState
	var profiles *profile.Set // both are opened here, so that a fault shows at the start
	if err := openAll(ctx, into(&files, in.FileHandler), into(&db, in.DB), into(&live, in.LiveState), into(&profiles, in.profileSet)); err != nil {
		return nil, err
	}
	gone := func(ctx context.Context) (map[entry.State]int, error) {
		leader, err := in.ComputeLeader(ctx)
		if err != nil {
			return nil, err
		}
		return leader.Recover(ctx)
	}
	return &sweep.Sweeper{Entries: gone, Files: files, Finder: sweep.Tables{DB: db}, Slots: files.Slots(), Windows: sweep.TableWindows{DB: db, Ready: in.CaughtUp}, Limits: in.fileLimits, Interval: in.cfg.SweepInterval, Log: in.log.With("role", "sweeper")}, nil
}

// fileLimits returns the limits of files as they are now: of those that belong to no job,
// and of the jobs of each profile.
func (in *Installation) fileLimits(ctx context.Context) (limits sweep.Limits, err error) {
	set, err := in.profileSet(ctx)
	if err != nil {
		return limits, err
	}
	timeouts, err := in.timeouts(ctx)
	if err != nil {
		return limits, err
	}
	mayDownload := timeouts.download.Timeout
	step := func(attempts int, timeout time.Duration) domain.Limits {
		return domain.Limits{Max: attempts, Timeout: timeout, Delay: in.cfg.FileRetryDelay, MaxDelay: in.cfg.FileRetryMaxDelay}
	}
	processing := step(in.cfg.MaxProcessingAttempts, timeouts.processing.Timeout)
	limits = sweep.Limits{Profiles: map[string]domain.FileLimits{}, Notes: timeouts.notes(),
		Default: domain.FileLimits{Download: step(in.cfg.MaxDownloadAttempts, mayDownload), Processing: processing}}
	for _, name := range set.Names() {
		p, err := set.Get(name)
		if err != nil {
			return limits, err
		}
		download := step(p.Fetch.Attempts, max(mayDownload, time.Duration(p.Fetch.Timeout)))
		limits.Profiles[name] = domain.FileLimits{Download: download, Processing: processing}
	}
	return limits, nil
}

// Resend implements app.Effects.
func (in *Installation) Resend(ctx context.Context, b domain.Batch, command string) (app.Resend, error) {
	var profiles *profile.Set
	var objects *store.Store
	var records *record.Records
	if err := openAll(ctx, into(&profiles, in.profileSet), into(&objects, in.Uploads), into(&records, in.Records)); err != nil {
		return app.Resend{}, err
	}
	again := delivery.Resender{Profiles: profiles, Objects: objects, Records: records, Mail: in.mailer(records)}
	r, err := again.Prepare(ctx, b, command)
	if err != nil {
		return app.Resend{}, err
	}
	return app.Resend{Key: r.Message.Key, Made: r.Made, To: len(r.Message.Recipients), Open: r.Open, Tried: r.Tried, Sent: r.Sent,
		Send: func(ctx context.Context, why *domain.Reason, tell func(context.Context, domain.NoteDelivery) error) (failure, err error) {
			return again.Send(ctx, r, why, tell)
		}}, nil
}

// noToken matches characters of a version that a User-Agent cannot have.
var noToken = regexp.MustCompile(`[^A-Za-z0-9.+_-]`)

func (in *Installation) client(ctx context.Context) (*fetch.Client, error) {
	return in.requests.get(ctx, func(context.Context) (*fetch.Client, error) {
		return fetch.NewClient(fetch.Config{Version: noToken.ReplaceAllString(in.Version, "-"),
			Connect: in.cfg.FetchConnectTimeout, ResponseHeader: in.cfg.FetchResponseTimeout,
			Head: in.cfg.FetchHeadTimeout, Exchange: in.cfg.FetchCallbackTimeout, Bandwidth: int64(in.cfg.FetchBandwidth),
			Buckets: fetch.Buckets{Endpoint: in.cfg.S3Endpoint, Region: in.cfg.S3Region, AccessKey: in.cfg.S3AccessKey, SecretKey: in.cfg.S3SecretKey},
			SFTP:    fetch.SFTP{Key: in.cfg.SFTPKey, KnownHosts: in.cfg.SFTPKnownHosts}})
	})
}

// meteredRecords counts the effects that end in SQL or are noted there.
type meteredRecords struct {
	*record.Records
	metrics *ops.Metrics
}

// ReserveIdentifier implements daemon.Records.
func (r meteredRecords) ReserveIdentifier(ctx context.Context, job domain.JobID, name string) (record.Identifier, error) {
	id, err := r.Records.ReserveIdentifier(ctx, job, name)
	r.metrics.Effect("identifier", err)
	return id, err
}

// RecordObject implements daemon.Records.
func (r meteredRecords) RecordObject(ctx context.Context, o record.Object) (bool, error) {
	recorded, err := r.Records.RecordObject(ctx, o)
	r.metrics.Effect("inventory", err)
	return recorded, err
}

// EndDelivery implements daemon.Records.
func (r meteredRecords) EndDelivery(ctx context.Context, key string, failure error, final bool) error {
	r.metrics.Effect("message", failure)
	return r.Records.EndDelivery(ctx, key, failure, final)
}

// BulkActions returns what carries out commands about all that a filter selects.
func (in *Installation) BulkActions() *bulk.Runner {
	return &bulk.Runner{App: &app.App{Open: in.Resources()}, Log: in.log.With("role", "bulk")}
}

// Withdrawals returns what removes the content of withdrawn objects.
func (in *Installation) Withdrawals() *withdrawal.Remover {
	return &withdrawal.Remover{App: &app.App{Open: in.Resources()}, Log: in.log.With("role", "withdrawals")}
}

// Originals returns what removes the files and URLs that depositors sent long ago.
func (in *Installation) Originals(ctx context.Context) (*originals.Remover, error) {
	var live *LiveState
	var log eventstore.Log
	var objects *store.Store
	var records *record.Records
	var water consistency.HighWater
	err := openAll(ctx, into(&live, in.LiveState), into(&log, in.Log), into(&objects, in.Uploads), into(&records, in.Records), into(&water, in.HighWater))
	if err != nil {
		return nil, err
	}
	return &originals.Remover{Batches: live, Log: log, Objects: objects, URLs: records, Sound: water.Check,
		Retention: in.cfg.OriginalsRetention, Now: time.Now, Logger: in.log.With("role", "originals")}, nil
}
