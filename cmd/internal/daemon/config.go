package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
)

// Config is all that the daemons need.
type Config struct {
	// Handler is the door to the live state, Claims hands out work. Required.
	Handler *eventstore.Handler
	Claims  eventstore.Claims
	// Space has the promises of working space, of all processes. Required.
	Space eventstore.Space
	// Outbox tells a report of deletions that are not in the log yet. Required.
	Outbox Outbox
	// Files is the door to the files of jobs, whose state is in the log. Required.
	Files *files.Handler

	Profiles Profiles      // required
	Fetch    *fetch.Client // all outgoing requests. Required
	Records  Records       // reservations, inventory, deliveries. Required
	Mail     Mailer        // nil = mails that a profile wants are noted as not delivered

	// Objects is the default object store, Work the default working directory of
	// the installation. Required. Profiles may name others.
	Objects *store.Store
	Work    *store.Work
	// Installation is the id with which working directories are marked. Required.
	Installation string

	Log   *slog.Logger // required
	Meter Meter        // nil = nobody counts

	// Workers says how many workers of a daemon run, by its name; a daemon that is
	// not named has as many as Daemons says, 0 = it does not run here.
	Workers map[string]int
	// Grace is how long running steps may go on after the stop, default 10 s.
	Grace time.Duration
	// RetryDelay is the first pause before work is tried again; it doubles each
	// time, up to a minute. Default 1 s.
	RetryDelay time.Duration
	// HandOver lets a worker go on with a job in its next state, without claiming it
	// anew, when nothing there goes before it and a worker of that state is free.
	HandOver bool
	// ProcessingAttempts is how often processing a file may begin, default 3; how
	// often its download may, the profile says.
	ProcessingAttempts int
	// SpaceReserve is what stays free in the working directory, in bytes; jobs of
	// unknown size wait while less is free. Default 1 GiB.
	SpaceReserve int64
	// SpaceCycle is how long a job waits for space before it is looked at again,
	// default 10 s.
	SpaceCycle time.Duration
	// JanitorInterval is the pause between two passes of the janitor, default 1 min.
	JanitorInterval time.Duration
	// Retention is how long a completed batch is kept, 0 = for ever.
	Retention time.Duration
}

// complete fills in defaults and names every fault.
func (c *Config) complete() error {
	var faults []error
	need := func(there bool, what string) {
		if !there {
			faults = append(faults, fmt.Errorf("daemon: %s is missing from the configuration", what))
		}
	}
	need(c.Handler != nil && c.Handler.Live != nil && c.Handler.Catalog != nil && c.Handler.Clock != nil && c.Handler.NewID != nil && c.Handler.Collection != nil,
		"Handler, with all its fields,")
	need(c.Claims != nil, "Claims")
	need(c.Space != nil, "Space")
	need(c.Outbox != nil, "Outbox")
	need(c.Files != nil && c.Files.Log != nil && c.Files.Clock != nil && c.Files.NewID != nil, "Files, with all its fields,")
	need(c.Profiles != nil, "Profiles")
	need(c.Fetch != nil, "Fetch")
	need(c.Records != nil, "Records")
	need(c.Objects != nil, "Objects")
	need(c.Work != nil, "Work")
	need(c.Installation != "", "Installation")
	need(c.Log != nil, "Log")

	workers := make(map[string]int, len(Daemons))
	for _, d := range Daemons {
		workers[d.Name] = d.Workers
	}
	for _, name := range slices.Sorted(maps.Keys(c.Workers)) {
		_, known := workers[name]
		if n := c.Workers[name]; !known || n < 0 {
			faults = append(faults, fmt.Errorf("daemon: %d workers of %q: give a daemon's name and a number from 0", n, name))
		}
		workers[name] = c.Workers[name]
	}
	c.Workers = workers

	fill := func(d *time.Duration, name string, def time.Duration) {
		if *d < 0 {
			faults = append(faults, fmt.Errorf("daemon: %s is negative", name))
		}
		if *d == 0 {
			*d = def
		}
	}
	fill(&c.Grace, "Grace", 10*time.Second)
	fill(&c.RetryDelay, "RetryDelay", time.Second)
	fill(&c.SpaceCycle, "SpaceCycle", 10*time.Second)
	fill(&c.JanitorInterval, "JanitorInterval", time.Minute)
	fill(&c.Retention, "Retention", 0)
	if c.ProcessingAttempts == 0 {
		c.ProcessingAttempts = 3
	}
	if c.ProcessingAttempts < 0 {
		faults = append(faults, errors.New("daemon: ProcessingAttempts is negative"))
	}
	if c.SpaceReserve == 0 {
		c.SpaceReserve = 1 << 30
	}
	if c.SpaceReserve < 0 {
		faults = append(faults, errors.New("daemon: SpaceReserve is negative"))
	}
	return errors.Join(faults...)
}
