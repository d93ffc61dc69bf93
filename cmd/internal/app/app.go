// Package app has the use cases of Accession, one file for each noun. All commands of
// the command line call it.
//
//	Submit           accepts a deposit, as a batch; Watch follows it until it is at rest
//	Batches, Jobs, Files                        list
//	Batch, Job, File                            show one, with its history
//	BatchAt, JobAt, FileAt, BatchReportAt       show one as it was at a moment
//	ReleaseBatch, Requeue, HoldCollection, …    are operators' commands about one thing
//	BatchReport      reports on a batch: every job, every failed attempt
//	ReportKinds      lists reports              Report         makes one
//	Tail             reads the history, and follows it
//	Select           selects a part of it       Republish      sends that part once more
//	Verify           compares the three servers, and what is stored
//	Repair           repairs what differs
//	RestoreZooKeeper restores the live state from the log
//	RestoreLog       restores lost events to the log
//
// Packages below have those of one matter: the deposit queues, queries, the drop folder,
// the status of all, and tables, which are migrated, rebuilt and compared.
//
// Commands go through eventstore.Handler, those for files through its counterpart;
// they return the aggregate and its version, so that a reader can wait for it. Lists
// and the past come from PostgreSQL and the log.
//
// Every error is an [*Error] with a [Kind] and often a hint.
package app

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app/standing"
	"github.com/accession-ingest/accession/cmd/internal/attempt"
	"github.com/accession-ingest/accession/cmd/internal/audit"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/drop"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/query"
)

// Live is the live state as use cases read it.
type Live interface {
	standing.Live // batches and jobs, and which of them workers hold
	Refs(ctx context.Context, id domain.BatchID) (eventstore.Refs, error)
	Holds(ctx context.Context) (eventstore.Holds, error)
	Overview(ctx context.Context) (eventstore.Overview, error)
	ReserveBatchID(ctx context.Context) (domain.BatchID, error)
	// Room refuses, with ErrFull, a deposit for which there is no room now.
	Room(ctx context.Context) error
}

// Resources opens what use cases need, each part on first use: reading a report does
// not need ZooKeeper. A part that cannot be opened is an [*Error] of kind Unavailable.
type Resources struct {
	LiveState
	EventLog
	Tables
	Effects
	// DepositQueues opens the deposit queues.
	DepositQueues func(ctx context.Context) (eventstore.DepositQueues, error)
	// Drop opens the drop folder, which it makes if need be, or nil = there is none.
	Drop    func(create bool) (*drop.Folder, error)
	Servers []Address // where the three servers are, without passwords
	// ResendAnswers is Resend for a query.
	ResendAnswers func(ctx context.Context, q lookup.Query, command string) (Resend, error)
	// MailFrom is the address from which reports of queries are mailed, "" = none are.
	MailFrom string
	// UploadLimit bounds a file over HTTP, in bytes, and WaitingLimit the deposits of a user.
	UploadLimit  int64
	WaitingLimit int
	// FormsProfile is the profile of metadata files that arrive by forms which name none.
	FormsProfile string
	// HostPermits is how many permits for one host there are, SubmitterPermits for one submitter.
	HostPermits, SubmitterPermits int
	// Attempts opens what makes attempts at files of open directories.
	Attempts func(ctx context.Context) (*attempt.Attempts, error)
	// Work opens the working directory.
	Work func(ctx context.Context) (*store.Work, error)
	// Heap compares the setting of ZooKeeper's heap with the servers, nil = not known.
	Heap func(ctx context.Context) *standing.Heap
	// WorkFiles lists a job's working files, at most limit, and says whether there are more.
	WorkFiles func(ctx context.Context, j domain.Job, limit int) ([]store.WorkFile, bool, error)
	// Requests opens the client for requests to servers of others.
	Requests func(ctx context.Context) (*fetch.Client, error)
	// Timeouts returns how long attempts at files may take now.
	Timeouts func(ctx context.Context) (Timeouts, error)
}

// LiveState opens the live state.
type LiveState interface {
	Live(ctx context.Context) (Live, error)
	Handler(ctx context.Context) (*eventstore.Handler, error)
	// Repairer is Handler for repairs: wrong next ids, older records or object store are no error.
	Repairer(ctx context.Context) (*eventstore.Handler, error)
	FileHandler(ctx context.Context) (*files.Handler, error)
	// Restorer opens a live state that is to be restored.
	Restorer(ctx context.Context) (eventstore.Restorer, error)
	// HighWater opens the marks, where PostgreSQL and the object store answer.
	HighWater(ctx context.Context) (consistency.HighWater, error)
	// Permits returns how many permits are taken for servers of others, see
	// [eventstore.Hosts].
	Permits(ctx context.Context, named int) ([]eventstore.PermitsTaken, error)
	// Inspect opens the live state to be verified.
	Inspect(ctx context.Context) (consistency.Live, error)
}

// EventLog opens the log.
type EventLog interface {
	Log(ctx context.Context) (eventstore.Log, error)
	// Source returns the log as the projections read it; with follow it waits for new
	// events at the end.
	Source(ctx context.Context, follow bool) (projections.Source, error)
	Republisher(ctx context.Context) (Republisher, error)
	// TypesLag says how far the stream by types is behind the log, nil = there is none.
	// What keeps it from being compared is in the result.
	TypesLag(ctx context.Context) (*standing.Types, error)
	// Overdue counts the attempts at files that are overdue by the clock of the log, up to
	// a bound.
	Overdue(ctx context.Context) (int, error)
}

// Tables opens PostgreSQL.
type Tables interface {
	DB(ctx context.Context) (query.DB, error)
	// Pool returns the connections; tables may be missing.
	Pool(ctx context.Context) (*projections.Pool, error)
	// MakeRoles creates the roles that rights are granted to.
	MakeRoles(ctx context.Context) error
	// Migrate creates or updates the tables and returns, for each schema, how many
	// migrations that took; Pending returns how many are missing.
	Migrate(ctx context.Context) (map[string]int, error)
	Pending(ctx context.Context) (int, error)
	// Projected returns when the tables have reached the version of an aggregate.
	Projected(ctx context.Context, a domain.Aggregate, version int64) error
	// CaughtUp returns when the tables show everything that is in the log now.
	CaughtUp(ctx context.Context) error
	// Lag returns how many events up to the sequence last the tables lack, and for how
	// long the first of them has been in the log.
	Lag(ctx context.Context, last uint64) (events int64, age time.Duration, err error)
}

// Effects opens what is outside of the workflow: stored objects, records, profiles,
// mails, working directories.
type Effects interface {
	Uploads(ctx context.Context) (*store.Store, error)
	// ObjectStore opens the store with the objects of a profile.
	ObjectStore(ctx context.Context, profile string) (*store.Store, error)
	// VerifyConfig opens all that is compared.
	VerifyConfig(ctx context.Context, o audit.Options) (audit.Config, error)
	Records(ctx context.Context) (*record.Records, error)
	// Profiles returns the profiles as they are now, or while the live state is not open in
	// this process those of the files.
	Profiles() (*profile.Set, error)
	// Resend prepares the report of a batch to be sent once more by a command with an id, ""
	// = without. The error is a *domain.Refused when the batch has no report or its profile
	// no address.
	Resend(ctx context.Context, b domain.Batch, command string) (Resend, error)
	// RemoveWork removes what a job has in its working directory.
	RemoveWork(ctx context.Context, j domain.Job) error
	// WorkDirs lists the working directories of jobs.
	WorkDirs(ctx context.Context) ([]consistency.WorkDir, error)
}

// Address says where a server is.
type Address struct{ Name, URL string }

// The names of the three servers.
const (
	ServerZooKeeper = "zookeeper"
	ServerNATS      = "nats"
	ServerPostgres  = "postgres"
)

// App is the use cases, requested by one actor.
type App struct {
	Open  Resources
	Actor domain.Actor
	// DryRun makes operators' commands about batches, jobs, collections, queues and timeouts
	// return what they would change, and write nothing.
	DryRun bool
	// Command is the one command that is requested; nil = each is a new one.
	Command *Command
}

// Command makes a command that is requested again recognisable.
type Command struct {
	ID string // the same on every request, "" = a new one
	// IfVersion is the only version of what is changed that may be changed, 0 = any.
	IfVersion int64

	written int // changes that were requested by it
}

// CommandID returns the id of the command that is requested, "" = it has none.
func (a *App) CommandID() string { return cmp.Or(a.Command, &Command{}).ID }

// next sets the id and the version of a change. A command may need several: each has an
// id of its own, and only the first one is about the version that the caller knows.
func (c *Command) next(m *eventstore.Meta) {
	if c == nil {
		return
	}
	if c.written++; c.written == 1 {
		m.CommandID, m.IfVersion = c.ID, c.IfVersion
	} else if c.ID != "" {
		m.CommandID = fmt.Sprintf("%s/%d", c.ID, c.written)
	}
}

// Meta returns the metadata of this actor's next change.
func (a *App) Meta() eventstore.Meta {
	m := eventstore.Meta{Actor: a.Actor, DryRun: a.DryRun, TraceParent: eventstore.NewTrace().Parent()}
	a.Command.next(&m)
	return m
}

// part returns the actor of one change of several that the command needs. It has an id of
// its own, so that a command which was interrupted after it is not taken for done when it is
// requested again. Parts may be written at the same time.
func (a *App) part(name string) *App {
	if a.Command == nil {
		return a
	}
	p := *a
	p.Command = &Command{IfVersion: a.Command.IfVersion}
	if a.Command.ID != "" {
		p.Command.ID = a.Command.ID + "/" + name
	}
	return &p
}

// after returns the actor of the change that comes after a part; last is the command that
// wrote what is changed now. If the part did, the version that the caller knew has gone by.
func (a *App) after(part *App, last string) *App {
	if part == a || part.Command.written == 0 && part.Command.ID != last {
		return a
	}
	then := *a
	then.Command = &Command{ID: a.Command.ID}
	return &then
}

// log opens the log and returns its description.
func (a *App) log(ctx context.Context) (log eventstore.Log, info eventstore.LogInfo, err error) {
	if log, err = a.Open.Log(ctx); err == nil {
		info, err = log.Info(ctx)
	}
	return log, info, err
}

// reading reads the tables, one query after another, until the first that fails.
type reading struct {
	db  query.Reader
	err error
}

func (a *App) read(ctx context.Context) *reading {
	db, err := a.Open.DB(ctx)
	return &reading{db, err}
}

// ask runs a query unless one before it failed.
func ask[Q, A any](ctx context.Context, r *reading, run func(context.Context, query.Reader, Q) (A, error), q Q) (answer A) {
	if r.err == nil {
		answer, r.err = run(ctx, r.db, q)
	}
	return answer
}

// pageLimit returns how many rows a page has.
func pageLimit(limit int) int {
	if limit < 1 {
		return 100
	}
	return limit
}

// page cuts rows to the limit, and reports whether there were more.
func page[T any](limit int, rows []T) ([]T, bool) {
	return notNil(rows[:min(len(rows), limit)]), len(rows) > limit
}

// notNil returns an empty list for nil, so that JSON has [] and not null.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
