package app

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// once is a deposit under an idempotency key, which makes one batch however often it is
// requested. The id of the batch is kept with the key before the batch is made, and
// nothing after it: whether the batch was made is read from the live state and the log.
// So it does not matter where a request is cut off.
type once struct {
	app     *App
	key     string
	records *record.Records
	command record.Command // what an earlier request kept, if again is set
	again   bool           // there was an earlier request
}

// once finds out whether the key of a deposit was used before. Without a key the result
// is nil, on which all methods work.
func (a *App) once(ctx context.Context, d Deposit) (o *once, err error) {
	if d.Key == "" {
		return nil, nil
	}
	o = &once{app: a, key: d.Key}
	if o.records, err = a.Open.Records(ctx); err != nil {
		return nil, err
	}
	o.command, o.again, err = o.records.Command(ctx, d.Submitter, d.Key)
	return o, err
}

// requested reports whether the deposit was requested before under its key.
func (o *once) requested() bool { return o != nil && o.again }

// reserve returns the id that the batch has or gets: for one key always the same. If the key
// was used for another deposit, the error is KeyReused.
func (o *once) reserve(ctx context.Context, live Live, sub domain.Submission) (domain.BatchID, error) {
	if o == nil {
		return live.ReserveBatchID(ctx)
	}
	input, err := record.InputSHA256(sub)
	if err != nil {
		return "", err
	}
	if !o.again {
		id, err := live.ReserveBatchID(ctx)
		if err != nil {
			return "", err
		}
		if o.command, err = o.records.KeepCommand(ctx, record.Command{Submitter: sub.Submitter, Key: o.key, InputSHA256: input, Batch: id}); err != nil {
			return "", err
		}
		o.again = o.command.Batch != id // another request kept the key meanwhile; this id stays unused
	}
	if o.command.InputSHA256 != input {
		return "", errorf(KeyReused, "nothing was made: repeat the deposit as it was, or give this one a key of its own", "the key %q was used for another deposit, %s", o.key, o.command.Batch)
	}
	return o.command.Batch, nil
}

// accepted returns the batch that an earlier request has made, and reports whether there is
// one. The batch may have left the live state since: then its first event, in the outbox
// or the log, says that it was made.
func (o *once) accepted(ctx context.Context, live Live, id domain.BatchID) (s Submitted, found bool, err error) {
	if !o.requested() {
		return s, false, nil
	}
	at, err := live.Batch(ctx, id)
	sub := at.State.Submission
	if errors.Is(err, eventstore.ErrNotFound) {
		if sub, found, err = o.fromHistory(ctx, id); err != nil || !found {
			return s, false, err
		}
	}
	return Submitted{Batch: id, Version: 1, Type: sub.Type, PayloadURL: sub.PayloadURL, Again: true}, err == nil, err
}

// overtaken returns the batch if err is the refusal of one that another request under the
// key has made meanwhile, else err.
func (o *once) overtaken(ctx context.Context, live Live, id domain.BatchID, err error) (Submitted, error) {
	if _, refused := errors.AsType[*domain.Refused](err); !refused || o == nil {
		return Submitted{}, err
	}
	o.again = true
	s, found, lookErr := o.accepted(ctx, live, id)
	if !found && lookErr == nil {
		lookErr = err
	}
	return s, lookErr
}

// fromHistory returns the submission of a batch by its first event.
func (o *once) fromHistory(ctx context.Context, id domain.BatchID) (sub domain.Submission, found bool, err error) {
	live, err := o.app.Open.Inspect(ctx)
	if err != nil {
		return sub, false, err
	}
	log, err := o.app.Open.Log(ctx)
	if err != nil {
		return sub, false, err
	}
	first, err := consistency.FirstEvent(ctx, live, log, id.Aggregate())
	submitted, ok := first.Data.(*domain.BatchSubmitted)
	if err != nil || !ok {
		return sub, false, err
	}
	return submitted.Submission, true, nil
}
