package drops

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/drop"
	"github.com/accession-ingest/accession/domain/fair"
)

// Transfer makes batches of the deposits in the drop folder, in one process at a time. A
// deposit leaves the folder after its batch was made; killed between the two, the next
// transfer finds the batch by its key. What no batch can be made of stays, with the reason.
type Transfer struct {
	App      *app.App
	Folder   *drop.Folder
	Interval time.Duration // between two looks into the folder
	Keep     time.Duration // how long it stays known who removed a deposit, 0 = for ever
	Log      *slog.Logger

	unreadable map[string]bool // the errors that were logged
}

// longestPause is the longest pause after something that may work later.
const longestPause = time.Minute

// Run transfers until ctx ends.
func (t *Transfer) Run(ctx context.Context) error {
	lead, err := t.lead(ctx)
	if err != nil || lead == nil {
		return err
	}
	defer lead()
	t.unreadable = map[string]bool{}
	pauses := &backoff.ExponentialBackOff{InitialInterval: t.Interval, Multiplier: 2, MaxInterval: longestPause}
	for purged := (time.Time{}); ; {
		if now := time.Now(); now.Sub(purged) > time.Hour {
			purged = now
			t.purge(now)
		}
		changed, err := t.round(ctx)
		pause := t.Interval
		if err == nil || ctx.Err() != nil {
			pauses.Reset()
		} else {
			pause = pauses.NextBackOff()
			t.Log.Warn("the transfer is tried again later", "error", err, "pause", pause)
		}
		select {
		case <-time.After(pause):
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// purge removes what is of no use any more.
func (t *Transfer) purge(now time.Time) {
	if err := t.Folder.RemoveLeft(now); err != nil {
		t.Log.Warn("what killed processes left in the drop folder is not removed", "error", err)
	}
	if t.Keep == 0 {
		return
	}
	if err := t.Folder.RemoveOld(now.Add(-t.Keep)); err != nil {
		t.Log.Warn("what is known of deposits that were removed long ago stays in the drop folder", "error", err)
	}
}

// lead waits until this process transfers alone; nil = ctx ended before.
func (t *Transfer) lead(ctx context.Context) (release func(), err error) {
	for {
		release, leads, err := t.Folder.Lead()
		if err != nil || leads {
			return release, err
		}
		select {
		case <-time.After(t.Interval):
		case <-ctx.Done():
			return nil, nil
		}
	}
}

// round transfers what is in the folder, unless an operator has stopped the transfer. The
// channel is closed when that may have changed; nil = it is not known.
func (t *Transfer) round(ctx context.Context) (changed <-chan struct{}, err error) {
	live, err := t.App.Open.DepositQueues(ctx)
	if err != nil {
		return nil, err
	}
	changed = live.QueueSettingsChanged(fair.QueueMetadata)
	settings, err := live.QueueSettings(ctx, fair.QueueMetadata)
	if err != nil || settings.Set.Queue.TransferStopped {
		return changed, err
	}
	for d, readErr := range t.Folder.All(ctx) {
		if readErr != nil {
			t.skip(readErr)
			continue
		}
		if settings, err = live.QueueSettings(ctx, fair.QueueMetadata); err != nil || settings.Set.Queue.TransferStopped {
			return changed, err
		}
		if d.Refused == nil {
			err = t.transfer(ctx, d)
		}
		if err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// skip logs once what is wrong with a deposit that cannot be read.
func (t *Transfer) skip(err error) {
	if !t.unreadable[err.Error()] && !errors.Is(err, context.Canceled) {
		t.unreadable[err.Error()] = true
		t.Log.Error("a deposit in the drop folder cannot be read, and is left as it is", "error", err)
	}
}

// transfer makes the batch of a deposit and takes it out of the folder. The error is one
// that may go away.
func (t *Transfer) transfer(ctx context.Context, d drop.Deposit) error {
	release, err := t.Folder.Lock(d)
	if errors.Is(err, drop.ErrLocked) || errors.Is(err, drop.ErrNotFound) {
		return nil // an operator removes it, or has
	}
	if err != nil {
		return err
	}
	defer release()
	got, err := t.App.Submit(ctx, app.Deposit{Profile: d.Profile, Submitter: d.Submitter, Payload: t.Folder.Path(d), Type: d.Type, Mode: d.Mode,
		Digest: cmp.Or(d.Digest, "sha256:"+d.SHA256), Primary: d.Primary, LocalIDs: d.LocalIDs, Title: d.Title, Creator: d.Creator, Date: d.Date,
		Key: keyOf(d.ID), Received: d.Received, ID: d.ID, User: d.User})
	if fault, known := errors.AsType[*app.Error](err); known && slices.Contains([]app.Kind{app.Invalid, app.Refused, app.KeyReused, app.NotFound}, fault.Kind) {
		t.Log.Warn("no batch can be made of a deposit; it stays in the drop folder", "deposit", d.ID, "submitter", d.Submitter, "error", err)
		return t.Folder.Refuse(d, drop.Refusal{At: time.Now().UTC(), Reason: err.Error(), Hint: fault.Hint})
	}
	if err != nil {
		return err
	}
	t.Log.Info("transferred", "deposit", d.ID, "batch", got.Batch, "submitter", d.Submitter)
	return t.Folder.Remove(d)
}
