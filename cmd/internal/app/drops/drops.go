// Package drops has the use cases of the drop folder: files are accepted there while no
// server needs to be running, and are transferred when they do.
package drops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/intake"
	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/cmd/internal/drop"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/manifest"
	"github.com/accession-ingest/accession/eventstore"
)

// Deposit is a file in the drop folder.
type Deposit = drop.Deposit

// Act is what an operator did with a deposit.
type Act = drop.Act

// Accept puts the local file of a deposit into the drop folder. When it returns without an
// error the deposit is on disk. The error is one of kind Invalid or NotFound when its batch
// would be refused by what is known without a server, and of kind IntakeClosed when the intake
// is: without ZooKeeper, for which it waits a moment, that is not known, and keeps no file out.
func Accept(ctx context.Context, a *app.App, d app.Deposit) (got drop.Deposit, err error) {
	defer app.Explained(&err, "drop")
	if d.Key != "" {
		return got, &app.Error{Kind: app.Invalid, Err: errors.New("a deposit in the drop folder has a key of its own"), Hint: "leave --idempotency-key out, or --drop"}
	}
	if err := a.Check(d); err != nil {
		return got, err
	}
	file, err := os.Open(d.Payload)
	if errors.Is(err, fs.ErrNotExist) {
		return got, &app.Error{Kind: app.Invalid, Err: fmt.Errorf("%s is not a local file", d.Payload), Hint: "a URL needs no drop folder: leave --drop out"}
	}
	if err != nil {
		return got, err
	}
	defer file.Close() //nolint:errcheck // only read
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return got, &app.Error{Kind: app.Invalid, Err: fmt.Errorf("%s is not a file", d.Payload), Hint: "give one file; a manifest can list many"}
	}
	if err := admit(ctx, a, d.Submitter); err != nil {
		return got, err
	}
	folder, err := a.Open.Drop(true)
	if err != nil {
		return got, err
	}
	return folder.Accept(ctx, described(a, d), file, time.Now())
}

// askTime is how long ZooKeeper may take to say whether the intake is open.
const askTime = 2 * time.Second

// admit refuses a deposit if the intake is known to be closed.
func admit(ctx context.Context, a *app.App, user string) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	err := intake.Admit(ctx, a.Open.DepositQueues, fair.QueueMetadata, user, false)
	if _, closed := errors.AsType[*eventstore.ClosedError](err); closed {
		return err
	}
	return nil
}

// described returns what a deposit has in the drop folder before its file.
func described(a *app.App, d app.Deposit) drop.Deposit {
	return drop.Deposit{Submitter: d.Submitter, User: a.Actor.User(), Profile: d.Profile, Type: d.Type, Mode: d.Mode, Digest: d.Digest, Primary: d.Primary,
		LocalIDs: d.LocalIDs, Title: d.Title, Creator: d.Creator, Date: d.Date, Key: d.Key, FileName: manifest.NormalName(filepath.Base(d.Payload))}
}

// The states of a deposit that was accepted into the drop folder.
const (
	Waiting     = "waiting"
	Refused     = "refused" // no batch can be made of it, see [drop.Refusal]
	Transferred = "transferred"
	Removed     = "removed" // by an operator
)

// Shown is what became of a deposit.
type Shown struct {
	Status string `json:"status"`
	State  string `json:"state" deprecated:"true" doc:"The same as status"`
	drop.Deposit
	Batch   domain.BatchID `json:"batch,omitempty"`   // once it is transferred
	Removed *drop.Act      `json:"removed,omitempty"` // by an operator
	Version int64          `json:"version,omitempty"` // while it is in the folder, for If-Match
}

// stateOf returns the state of a deposit in the folder.
func stateOf(d drop.Deposit) Shown {
	state := Waiting
	if d.Refused != nil {
		state = Refused
	}
	s := shown(state, d)
	s.Version = d.Version()
	return s
}

func shownRemoved(r drop.Removed) Shown {
	s := shown(Removed, r.Deposit)
	s.Removed = &r.Act
	return s
}

// shown returns a deposit in a state.
func shown(state string, d drop.Deposit) Shown { return Shown{Status: state, State: state, Deposit: d} }

// Show returns what became of a deposit of a submitter. The error is one of kind NotFound if
// there never was such a deposit, or it was removed.
func Show(ctx context.Context, a *app.App, id, submitter string) (s Shown, err error) {
	defer app.Explained(&err, "show a deposit of the drop folder")
	folder, err := a.Open.Drop(false)
	if err != nil {
		return s, err
	}
	d, err := folder.Find(id)
	if !errors.Is(err, drop.ErrNotFound) {
		return stateOf(d), err
	}
	removed, rerr := folder.Removed(id)
	if rerr == nil {
		submitter = removed.Deposit.Submitter
	} else if !errors.Is(rerr, drop.ErrNotFound) {
		return s, rerr
	}
	batch, err := became(ctx, a, id, submitter)
	switch {
	case err != nil:
		return s, err
	case batch != "":
		s = shown(Transferred, drop.Deposit{ID: id, Submitter: submitter})
		s.Batch = batch
		return s, nil
	case rerr == nil:
		return shownRemoved(removed), nil
	}
	return s, Missing(id)
}

// became returns the batch that was made of a deposit, "" = none. An id that was reserved
// for it is no batch yet.
func became(ctx context.Context, a *app.App, id, submitter string) (domain.BatchID, error) {
	records, err := a.Open.Records(ctx)
	if err != nil {
		return "", err
	}
	reserved, found, err := records.Command(ctx, submitter, keyOf(id))
	if err != nil || !found {
		return "", err
	}
	live, err := a.Open.Live(ctx)
	if err != nil {
		return "", err
	}
	if _, err = live.Batch(ctx, reserved.Batch); !errors.Is(err, eventstore.ErrNotFound) {
		return reserved.Batch, err
	}
	log, err := a.Open.Log(ctx) // it may have left the live state since
	if err != nil {
		return "", err
	}
	last, err := log.Last(ctx, reserved.Batch.Aggregate())
	if err != nil || last.Version == 0 {
		return "", err
	}
	return reserved.Batch, nil
}

// Missing returns the error about a deposit that is neither in the folder nor became a batch.
func Missing(id string) error {
	return &app.Error{Kind: app.NotFound, Err: fmt.Errorf("%s is neither in the drop folder nor was it transferred", id),
		Hint: "`accession drop ls` lists what is there; name the depositor with --submitter if it was another user"}
}

// ParseID returns the id of a deposit; the deposits of a list are in its order.
func ParseID(text string) (string, error) {
	id, err := uuid.Parse(text)
	return id.String(), err
}

// List returns the deposits in the folder in the order of their reception, or those that
// operators have removed, of one submitter or, with "", of all. Those that cannot be read
// are in the error, beside the others.
func List(ctx context.Context, a *app.App, submitter string, removed bool) (all []Shown, err error) {
	defer app.Explained(&err, "list the drop folder")
	folder, err := a.Open.Drop(false)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for d, readErr := range folder.All(ctx) {
		if err = errors.Join(err, readErr); readErr == nil {
			there[d.ID] = true
			all = append(all, stateOf(d))
		}
	}
	if removed {
		all = nil
		records, readErr := folder.AllRemoved()
		err = errors.Join(err, readErr)
		for _, r := range records {
			if !there[r.Deposit.ID] { // else the process that removes it was killed before it left
				all = append(all, shownRemoved(r))
			}
		}
	}
	return slices.DeleteFunc(append([]Shown{}, all...), func(s Shown) bool { return submitter != "" && s.Submitter != submitter }), err
}

// Retry lets a refused deposit be transferred again.
func Retry(_ context.Context, a *app.App, id, why string) (app.Changed, error) {
	return change(a, id, why, Waiting, func(f *drop.Folder, d drop.Deposit, by drop.Act) error {
		if a.DryRun {
			return nil
		}
		return f.Again(d, by)
	})
}

// Remove takes a deposit out of the folder, for ever. It is refused when a batch was made
// of it, which only the servers can say.
func Remove(ctx context.Context, a *app.App, id, why string) (app.Changed, error) {
	return change(a, id, why, Removed, func(f *drop.Folder, d drop.Deposit, by drop.Act) error {
		batch, err := became(ctx, a, id, d.Submitter)
		switch {
		case err != nil:
			return err
		case batch != "":
			return &app.Error{Kind: app.Refused, Err: fmt.Errorf("it became the batch %s", batch), Hint: "the transfer takes it out of the drop folder; `accession batch show " + string(batch) + "` shows the batch"}
		case a.DryRun:
			return nil
		}
		return f.Discard(d, by)
	})
}

// change changes a deposit that no other process works on.
func change(a *app.App, id, why, to string, do func(*drop.Folder, drop.Deposit, drop.Act) error) (c app.Changed, err error) {
	defer app.Explained(&err, "change the drop folder")
	folder, err := a.Open.Drop(false)
	if err != nil {
		return c, err
	}
	d, err := folder.Find(id)
	var release func()
	if err == nil {
		release, err = folder.Lock(d)
	}
	switch {
	case errors.Is(err, drop.ErrNotFound):
		return c, Missing(id)
	case errors.Is(err, drop.ErrLocked):
		return c, &app.Error{Kind: app.Refused, Err: err, Hint: "try again in a moment; `accession drop show` says what became of it"}
	case err != nil:
		return c, err
	}
	defer release()
	if d, err = folder.Find(id); err != nil { // as it is now that no other process changes it
		return c, err
	}
	version := d.Version()
	if err := a.Meta().Outdated(version); err != nil {
		return c, err
	}
	c = app.Changed{Target: target.Target{ID: id, Subject: "drop/" + id}, Version: version + 1, From: stateOf(d).State, State: to, DryRun: a.DryRun}
	return c, do(folder, d, drop.Act{At: time.Now().UTC(), By: a.Actor, Reason: why, Command: a.CommandID()})
}

// Given reports whether a command was given to a deposit that was in the folder, or it has left
// as a batch: no operator has removed it.
func Given(a *app.App, id, command string) (given, left bool, err error) {
	folder, err := a.Open.Drop(false)
	if err != nil {
		return false, false, err
	}
	d, err := folder.Find(id)
	if !errors.Is(err, drop.ErrNotFound) {
		return d.Retried != nil && d.Retried.Command == command, false, err
	}
	removed, err := folder.Removed(id)
	if errors.Is(err, drop.ErrNotFound) {
		return false, true, nil
	}
	return removed.Command == command, false, err
}

// keyOf returns the idempotency key under which a deposit of the folder is submitted: it
// becomes one batch however often its transfer is cut off.
func keyOf(id string) string { return "drop:" + id }
