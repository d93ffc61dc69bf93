package queries

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/eventstore"
)

// once is a query under an idempotency key, which is made once however often it is requested.
// Its id is kept with the key before it is made, and nothing after it.
type once struct {
	app     *app.App
	key     string
	records *record.Records
	command record.QueryCommand // what this request keeps, or an earlier one has kept
	asked   string              // digest of what the event of the query says, see [record.AskedSHA256]
	again   bool                // there was an earlier request
}

// newOnce finds out whether the key of a query was used before; for another one the error is
// KeyReused. Without a key the result is nil, on which all methods work.
func newOnce(ctx context.Context, a *app.App, l *List, w Wishes) (o *once, err error) {
	if w.Key == "" {
		return nil, nil
	}
	o = &once{app: a, key: w.Key, command: record.QueryCommand{Submitter: w.Submitter, Key: w.Key}}
	if o.command.InputSHA256, o.asked, err = digests(l, w); err != nil {
		return nil, err
	}
	if o.records, err = a.Open.Records(ctx); err != nil {
		return nil, err
	}
	earlier, found, err := o.records.QueryCommand(ctx, w.Submitter, w.Key)
	if err == nil && found {
		err = o.use(earlier)
	}
	return o, err
}

// digests returns the digest of what is asked, and that of what the event of the query says of
// it: the event has no addresses.
func digests(l *List, w Wishes) (all, asks string, err error) {
	sum := sha256.New()
	if _, err := l.file.Seek(0, io.SeekStart); err != nil {
		return "", "", err
	}
	if _, err := io.Copy(sum, l.file); err != nil {
		return "", "", err
	}
	list := hex.EncodeToString(sum.Sum(nil))
	said, err := json.Marshal([]any{l.name, w.Format, w.Mail, list})
	if err != nil {
		return "", "", err
	}
	digest := sha256.Sum256(said)
	asks, err = record.AskedSHA256(asked.Request{FileName: l.name, Format: w.Format, Recipients: len(w.Mail), ListSHA256: list})
	return hex.EncodeToString(digest[:]), asks, err
}

// use goes on with what an earlier request has kept.
func (o *once) use(earlier record.QueryCommand) error {
	if earlier.InputSHA256 != o.command.InputSHA256 && earlier.InputSHA256 != o.asked { // the latter of a row that was made again
		return &app.Error{Kind: app.KeyReused, Err: fmt.Errorf("the key %q was used for another query, %s", o.key, earlier.Query), Hint: "nothing was made: repeat the query as it was, or give this one a key of its own"}
	}
	o.command, o.again = earlier, true
	return nil
}

func (o *once) requested() bool { return o != nil && o.again }

// keySHA256 returns the digest of the key, "" = there is none.
func (o *once) keySHA256() string {
	if o == nil {
		return ""
	}
	return record.KeySHA256(o.key)
}

// reserve returns the id that the query has or gets: for one key always the same.
func (o *once) reserve(ctx context.Context, handler *eventstore.Handler) (domain.QueryID, error) {
	if o.requested() {
		return o.command.Query, nil
	}
	id, err := handler.Queries.ReserveQueryID(ctx)
	if err != nil || o == nil {
		return id, err
	}
	o.command.Query = id
	kept, err := o.records.KeepQueryCommand(ctx, o.command)
	if err == nil && kept.Query != id { // another request kept the key meanwhile; this id stays unused
		err = o.use(kept)
	}
	return kept.Query, err
}

// made returns the query that an earlier request has made, and reports whether there is one.
// It may have left the live state since: then its first event, in the outbox or the log, says
// that it was made.
func (o *once) made(ctx context.Context, handler *eventstore.Handler) (q Query, found bool, err error) {
	if !o.requested() {
		return q, false, nil
	}
	id := o.command.Query
	now, err := handler.Queries.LoadQuery(ctx, id)
	if err == nil {
		return of(now.State), true, nil
	}
	if !errors.Is(err, eventstore.ErrNotFound) {
		return q, false, err
	}
	live, err := o.app.Open.Inspect(ctx)
	if err != nil {
		return q, false, err
	}
	log, err := o.app.Open.Log(ctx)
	if err != nil {
		return q, false, err
	}
	first, err := consistency.FirstEvent(ctx, live, log, id.Aggregate())
	if err != nil || first.Version == 0 {
		return q, false, err
	}
	if q, err = find(ctx, o.app, id); err == nil {
		return q, true, nil
	}
	received, _ := first.Data.(*domain.QueryReceived) // the tables are behind
	if received == nil {
		return q, false, fmt.Errorf("the first event of %s is %s", id, first.Type)
	}
	return Query{ID: id, Status: asked.Received, Version: first.Version, Request: received.Request}, true, nil
}

// overtaken returns the query if err is the refusal of one that another request under the key
// has made meanwhile, else err.
func (o *once) overtaken(ctx context.Context, handler *eventstore.Handler, err error) (Query, error) {
	if _, refused := errors.AsType[*domain.Refused](err); !refused || o == nil {
		return Query{}, err
	}
	o.again = true
	q, found, lookErr := o.made(ctx, handler)
	if !found && lookErr == nil {
		lookErr = err
	}
	return q, lookErr
}
