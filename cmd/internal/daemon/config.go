package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/limits"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/mint/service"
	"github.com/accession-ingest/accession/cmd/internal/stepservice"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain/webhook"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
)

// Config is all that the daemons need.
type Config struct {
	// Handler writes the live state, Claims finds work. Required.
	Handler *eventstore.Handler
	Claims  eventstore.Claims
	// Queues has the processors of the deposit queues, nil = there is only the default one.
	Queues eventstore.DepositQueues
	// Space has the promises of working space, of all processes. Required.
	Space eventstore.Space
	// Order knows the jobs of each object. Required.
	Order eventstore.Objects
	// Hosts has the permits for servers of others, for all processes. Required.
	Hosts eventstore.Hosts
	// Rests returns the servers that have asked to be left alone, nil = none is.
	Rests limits.Rests
	// Outbox has deletions that are not in the log yet, for reports. Required.
	Outbox Outbox
	// Files writes the files of jobs, whose state is in the log. Required.
	Files *files.Handler

	Profiles Profiles      // required
	Fetch    *fetch.Client // all outgoing requests. Required
	Records  Records       // reservations, inventory, deliveries. Each required
	Mail     Mailer        // nil = mails that a profile wants are recorded as not delivered

	// Objects is the default object store, Work the default working directory of
	// the installation. Required. Profiles may name others.
	Objects *store.Store
	Work    *store.Work
	// Installation is the id with which working directories are marked. Required.
	Installation string

	Log   *slog.Logger // required
	Meter Meter        // nil = nothing is counted

	// Workers is the number of a daemon's workers, by its name; the default is that of
	// [Daemons]. 0 = the daemon does not run here.
	Workers map[string]int
	// Grace is how long running steps may go on after the stop, default 10 s.
	Grace time.Duration
	// RetryDelay is the first pause before work is tried again; it doubles each
	// time, up to a minute, or up to RetryMaxDelay if the server of a depositor was the
	// cause. Default 1 s.
	RetryDelay time.Duration
	// RetryMaxDelay is the longest pause between two attempts at a depositor's server,
	// also if it asks for a longer one. Default 10 min.
	RetryMaxDelay time.Duration
	// ManifestTimeout limits one request for a manifest, its body included. Default 1 min.
	ManifestTimeout time.Duration
	// StepTimeout is how long a step may begin requests to depositors' servers; then it
	// releases its job, or goes on without the answers. Default 5 min.
	StepTimeout time.Duration
	// HostPermits is how many steps of all processes may use one server of others at
	// once, default 32.
	HostPermits int
	// SubmitterPermits is how many steps of all processes may work for one submitter at
	// once, default 64.
	SubmitterPermits int
	// CallbackSecrets sign the callbacks of profiles, by their names.
	CallbackSecrets map[string][]webhook.Secret
	// MinterCredentials are for the services of profiles' identifiers, by the profiles' names.
	MinterCredentials map[string]service.Credentials
	// ServiceCredentials are for the services that do steps of jobs, by the profiles' names.
	ServiceCredentials map[string]stepservice.Credentials
	// HandOver lets a worker keep a job for its next state, without another claim, if
	// no job there comes before it and a worker of that state is free.
	HandOver bool
	// ProcessingAttempts is how often processing a file may begin, default 3. The
	// profile limits how often its download may.
	ProcessingAttempts int
	// SpaceReserve is the space that stays free in the working directory, in bytes;
	// jobs of unknown size wait while less is free. Default 1 GiB.
	SpaceReserve int64
	// ManifestMemory is how many bytes of manifests the steps of this process hold at
	// once; a step that finds no room is tried again later. Default 128 MiB.
	ManifestMemory int64
	// SpaceCycle is how long a job waits for space before it is checked again,
	// default 10 s.
	SpaceCycle time.Duration
	// JanitorInterval is the pause between two passes of the janitor, default 1 min.
	JanitorInterval time.Duration
	// Retention is how long a completed batch is kept, 0 = for ever.
	Retention time.Duration
	// FailedRetention is how long a failed batch is kept, 0 = for ever.
	FailedRetention time.Duration
	// FilesRetention is how long the working files of a failed job are kept, 0 = for ever.
	FilesRetention time.Duration
}

// complete fills in defaults and returns every fault.
func (c *Config) complete() error {
	var faults []error
	bad := func(format string, args ...any) { faults = append(faults, fmt.Errorf("daemon: "+format, args...)) }
	for _, need := range []struct {
		there bool
		what  string
	}{
		{c.Handler != nil && c.Handler.Live != nil && c.Handler.Catalog != nil && c.Handler.Clock != nil && c.Handler.NewID != nil && c.Handler.Collection != nil,
			"Handler, with all its fields,"},
		{c.Claims != nil, "Claims"}, {c.Space != nil, "Space"}, {c.Order != nil, "Order"}, {c.Hosts != nil, "Hosts"}, {c.Outbox != nil, "Outbox"},
		{c.Files != nil && c.Files.Log != nil && c.Files.Clock != nil && c.Files.NewID != nil, "Files, with all its fields,"},
		{c.Profiles != nil, "Profiles"}, {c.Fetch != nil, "Fetch"},
		{c.Records.Identities != nil && c.Records.Inventory != nil && c.Records.Deliveries != nil && c.Records.URLs != nil,
			"Records, with all its fields,"},
		{c.Objects != nil, "Objects"}, {c.Work != nil, "Work"}, {c.Installation != "", "Installation"}, {c.Log != nil, "Log"},
	} {
		if !need.there {
			bad("%s is missing from the configuration", need.what)
		}
	}
	workers := make(map[string]int, len(Daemons))
	for _, d := range Daemons {
		workers[d.Name] = d.Workers
	}
	for _, name := range slices.Sorted(maps.Keys(c.Workers)) {
		_, known := workers[name]
		if n := c.Workers[name]; !known || n < 0 {
			bad("%d workers of %q: give a daemon's name and a number from 0", n, name)
		}
	}
	maps.Copy(workers, c.Workers)
	c.Workers = workers
	for _, d := range []struct {
		field *time.Duration
		name  string
		value time.Duration
	}{
		{&c.Grace, "Grace", 10 * time.Second}, {&c.RetryDelay, "RetryDelay", time.Second},
		{&c.RetryMaxDelay, "RetryMaxDelay", 10 * time.Minute}, {&c.ManifestTimeout, "ManifestTimeout", time.Minute}, {&c.StepTimeout, "StepTimeout", 5 * time.Minute}, {&c.SpaceCycle, "SpaceCycle", 10 * time.Second},
		{&c.JanitorInterval, "JanitorInterval", time.Minute}, {&c.Retention, "Retention", 0}, {&c.FailedRetention, "FailedRetention", 0},
		{&c.FilesRetention, "FilesRetention", 0},
	} {
		if *d.field = cmp.Or(*d.field, d.value); *d.field < 0 {
			bad("%s is negative", d.name)
		}
	}
	if c.ProcessingAttempts = cmp.Or(c.ProcessingAttempts, 3); c.ProcessingAttempts < 0 {
		bad("ProcessingAttempts is negative")
	}
	if c.SubmitterPermits = cmp.Or(c.SubmitterPermits, 64); c.SubmitterPermits < 0 {
		bad("SubmitterPermits is negative")
	}
	if c.HostPermits = cmp.Or(c.HostPermits, 32); c.HostPermits < 0 {
		bad("HostPermits is negative")
	}
	if c.ManifestMemory = cmp.Or(c.ManifestMemory, 128<<20); c.ManifestMemory < 0 {
		bad("ManifestMemory is negative")
	}
	if c.SpaceReserve = cmp.Or(c.SpaceReserve, 1<<30); c.SpaceReserve < 0 {
		bad("SpaceReserve is negative")
	}
	return errors.Join(faults...)
}

func (c *Config) pauses() limits.Pauses {
	return limits.Pauses{First: c.RetryDelay, Longest: c.RetryMaxDelay}
}
