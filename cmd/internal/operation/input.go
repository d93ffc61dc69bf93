package operation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/app/entries"
	"github.com/accession-ingest/accession/cmd/internal/app/queries"
	"github.com/accession-ingest/accession/cmd/internal/app/ratelimit"
	"github.com/accession-ingest/accession/cmd/internal/app/slots"
	"github.com/accession-ingest/accession/cmd/internal/app/texts"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
)

// prepared is an input that is checked, and says something about the call.
type prepared interface {
	prepare(op *Operation, c *Call) error
}

// forbidden returns the error of a caller who lacks a right.
func forbidden(op *Operation, where string) error {
	return &app.Error{Kind: app.Forbidden, What: op.Name, Err: fmt.Errorf("you have no right to %s %s", needs[op.Need], where),
		Hint: "an administrator gives rights: `accession user grant`"}
}

var needs = map[access.Need]string{access.See: "see this", access.Deposit: "deposit", access.Act: "act", access.Administer: "administer"}

func invalid(format string, args ...any) error {
	return &app.Error{Kind: app.Invalid, What: "read the request", Err: fmt.Errorf(format, args...)}
}

// Page is which part of a list is requested.
type Page struct {
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"1000" doc:"How many items at most"`
	Cursor string `query:"cursor" maxLength:"2000" doc:"The next of the page before; none for the first page"`
}

// Order is in which order a list is.
type Order struct {
	Sort string `query:"sort" maxLength:"40" example:"-title" doc:"In the order of this, with a hyphen before it from its end; none = the order of the list"`
}

// Filter is what lists of batches, jobs and files choose by.
type Filter struct {
	Profile    string `query:"profile" maxLength:"200" doc:"Only of this profile"`
	Collection string `query:"collection" maxLength:"200" doc:"Only of this collection"`
	Submitter  string `query:"submitter" maxLength:"256" doc:"Only submitted by this user"`
	Code       string `query:"code" maxLength:"100" doc:"Only those that failed or wait for a reason with this code"`
	Host       string `query:"host" maxLength:"300" doc:"Only those whose payload comes from this host"`
	Age
}

// Age is when what a list has began: was submitted, created, found, received or requested.
type Age struct {
	Since     time.Time `query:"since" doc:"Only those begun from this time on"`
	OlderThan time.Time `query:"older_than" doc:"Only those begun before this time"`
}

// has reports whether something that began at a time is chosen.
func (a Age) has(at time.Time) bool {
	return !at.Before(a.Since) && (a.OlderThan.IsZero() || at.Before(a.OlderThan))
}

// of returns the filter, limited to what the caller may see.
func (f *Filter) of(c *Call) app.Filter {
	sees := c.Caller.Filter()
	return app.Filter{Profile: f.Profile, Collection: f.Collection, Submitter: f.Submitter, Code: f.Code, Host: f.Host, Since: f.Since, Until: f.OlderThan, Sees: &sees}
}

// At is the moment as of which something is shown.
type At struct {
	At string `query:"at" maxLength:"40" example:"4711" doc:"As of this sequence in the log, or this time by its clock (RFC 3339); none = now"`
}

// past reports whether it is not now: what is shown has no version that may be changed.
func (a *At) past() bool { return a.At != "" }

func (a *At) moment() (m app.Moment, err error) {
	if a.At == "" {
		return m, nil
	}
	if m.Seq, err = strconv.ParseUint(a.At, 10, 64); err == nil && m.Seq > 0 {
		return m, nil
	}
	if m.Time, err = time.Parse(time.RFC3339, a.At); err != nil {
		return m, invalid("at=%q is neither a sequence in the log nor a time such as 2026-03-01T12:00:00Z", a.At)
	}
	return m, nil
}

// BatchID names a batch.
type BatchID struct {
	ID string `path:"id" maxLength:"40" example:"bid0000000001" doc:"Batch id"`
}

// Thing implements thing.
func (b *BatchID) Thing() (domain.Aggregate, error) {
	id, err := domain.ParseBatchID(b.ID)
	if err != nil {
		return domain.Aggregate{}, invalid("%v", err)
	}
	return id.Aggregate(), nil
}

// JobID names a job.
type JobID struct {
	ID string `path:"id" maxLength:"40" example:"jid0000000001" doc:"Job id"`
}

// Thing implements thing.
func (j *JobID) Thing() (domain.Aggregate, error) {
	id, err := domain.ParseJobID(j.ID)
	if err != nil {
		return domain.Aggregate{}, invalid("%v", err)
	}
	return id.Aggregate(), nil
}

// FileHash names a file.
type FileHash struct {
	ID string `path:"id" maxLength:"80" example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" doc:"Hash of the file's source and path"`
}

// Thing implements thing.
func (f *FileHash) Thing() (domain.Aggregate, error) {
	id, err := domain.ParseFileHash(f.ID)
	if err != nil {
		return domain.Aggregate{}, invalid("%v", err)
	}
	return id.Aggregate(), nil
}

// CollectionName names a collection.
type CollectionName struct {
	Name string `path:"name" maxLength:"200" doc:"Name of the collection"`
}

// Collection implements collected.
func (n *CollectionName) Collection(context.Context, *Call) (string, error) { return n.Name, nil }

// QueueName names a queue.
type QueueName struct {
	Name string `path:"name" maxLength:"100" doc:"Name of the queue"`
}

// Once makes a request that is repeated have its effect once.
type Once struct {
	Key string `header:"Idempotency-Key" maxLength:"200" doc:"The same for every try of one request: it then has its effect once"`
	// Prefer may be wait=SECONDS.
	Prefer string `header:"Prefer" maxLength:"100" example:"wait=5" doc:"wait=SECONDS: answer only when the tables show the change, or after so many seconds (at most 60)"`
}

// Wait returns for how long to wait for the tables, 0 = not at all.
func (o *Once) Wait() time.Duration {
	for word := range strings.SplitSeq(o.Prefer, ",") {
		if text, ok := strings.CutPrefix(strings.TrimSpace(word), "wait="); ok {
			if n, err := strconv.Atoi(text); err == nil && n > 0 {
				return time.Duration(min(n, maxWait)) * time.Second
			}
		}
	}
	return 0
}

const maxWait = 60 // seconds

// command makes the call's command recognisable.
func (o *Once) command(op *Operation, c *Call, ifMatch string) error {
	cmd := &app.Command{}
	if o.Key != "" {
		cmd.ID = commandID(c, op.Name, o.Key)
	}
	c.App.Command = cmd
	version, err := versionIn(ifMatch)
	cmd.IfVersion = version
	return err
}

// versionIn returns the version that an If-Match names, 0 = any.
func versionIn(ifMatch string) (int64, error) {
	if ifMatch == "" || ifMatch == "*" {
		return 0, nil
	}
	version, err := strconv.ParseInt(strings.Trim(ifMatch, `"`), 10, 64)
	if err != nil || version < 1 {
		return 0, invalid("If-Match: %s is not an ETag, such as \"7\"", ifMatch)
	}
	return version, nil
}

// commandID returns the id of the command that a caller requests under a key.
func commandID(c *Call, name, key string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{c.Caller.Name, name, key}, "\x00")))
	return "http-" + hex.EncodeToString(sum[:20])
}

// Setting is what commands take that have a body of their own.
type Setting struct {
	Once
	DryRun bool `query:"dry_run" doc:"Answer with what would change, and change nothing"`
}

func (s *Setting) prepare(op *Operation, c *Call) error {
	c.App.DryRun = s.DryRun
	return s.command(op, c, "")
}

// MatchSetting is what commands with a body of their own take about what has a version.
type MatchSetting struct {
	Setting
	IfMatch string `header:"If-Match" maxLength:"60" example:"\"7\"" doc:"ETag of the version that may be changed"`
}

func (s *MatchSetting) prepare(op *Operation, c *Call) error {
	c.App.DryRun = s.DryRun
	return s.command(op, c, s.IfMatch)
}

// Change is what every other command takes.
type Change struct {
	Once
	DryRun bool    `query:"dry_run" doc:"Answer with what would change, and change nothing"`
	Body   *Reason `doc:"Why"`
}

// Reason says why something is done.
type Reason struct {
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Why; it stays in the history"`
}

func (ch *Change) prepare(op *Operation, c *Call) error {
	c.App.DryRun = ch.DryRun
	return ch.command(op, c, "")
}

// Why returns the reason, "" = none is given.
func (ch *Change) Why() string { return ch.Body.why() }

// Match is what commands about what has a version take besides.
type Match struct {
	Change
	IfMatch string `header:"If-Match" maxLength:"60" example:"\"7\"" doc:"ETag of the version that may be changed"`
}

func (m *Match) prepare(op *Operation, c *Call) error {
	c.App.DryRun = m.DryRun
	return m.command(op, c, m.IfMatch)
}

// describe sets the headers of an answer. With Prefer it waits for the tables first.
func (a *Answer[O]) describe(ctx context.Context, op *Operation, c *Call, in any) {
	a.Policy, a.Limit = ratelimit.Values(c.limit)
	var about domain.Aggregate
	var version int64
	switch out := any(a.Body).(type) {
	case queries.Query:
		version = out.Version
		if op.Write {
			about, a.Location = out.ID.Aggregate(), "/v1/queries/"+string(out.ID)
		}
	case entries.Work:
		version = out.Version
		if op.Write {
			about, a.Location = out.ID.Aggregate(), "/v1/compute/entries/"+string(out.ID)
		}
	case slots.View:
		version = out.Version
	case app.Timeouts:
		version = out.Version
	case app.Changed:
		about, _ = domain.ParseAggregate(out.Subject)
		version = out.Version
	case drops.Shown:
		version = out.Version
		if op.Later {
			a.Location = "/v1/uploads/" + out.ID
		}
	case app.Submitted:
		about, version = out.Batch.Aggregate(), out.Version
		a.Location = "/v1/batches/" + string(out.Batch)
	default:
		if past, ok := in.(interface{ past() bool }); !ok || !past.past() {
			version = c.version
		}
	}
	if version > 0 {
		a.ETag = strconv.Quote(strconv.FormatInt(version, 10))
	}
	w, ok := in.(interface{ Wait() time.Duration })
	if !ok || about.ID == "" || c.App.DryRun || w.Wait() == 0 {
		return
	}
	waiting, cancel := context.WithTimeout(ctx, w.Wait())
	defer cancel()
	if err := c.App.Open.Projected(waiting, about, version); err == nil {
		a.Applied = fmt.Sprintf("wait=%d", int(w.Wait().Seconds()))
	}
}

// checkTexts returns an error if a text of an input is none: texts are compared with those in
// the tables, or kept for ever.
func checkTexts(in any) error {
	if field, err := texts.Check(in); err != nil {
		return invalid("%s %w", field, err)
	}
	return nil
}
