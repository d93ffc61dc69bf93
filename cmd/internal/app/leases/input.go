package leases

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/attempt"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/eventstore"
)

// InputsPath is the path of inputs whose addresses are signed, without the ticket at its end.
const InputsPath = "/v1/compute/inputs/"

// ticket returns the end of the address at which the n-th input of an entry, from 1, is as long as the lease
// whose token has this digest. It is signed with that, which the node of the lease has: any
// process can tell whether it is right, and nothing about the token can be told from it.
func ticket(id compute.ID, sum string, n int) string {
	h := hmac.New(sha256.New, []byte(sum))
	if n == 1 {
		h.Write([]byte("input of " + id))
		return string(id) + "." + hex.EncodeToString(h.Sum(nil))
	}
	fmt.Fprintf(h, "input %d of %s", n, id)
	return fmt.Sprintf("%s.%d.%x", id, n, h.Sum(nil))
}

// Signed returns what sends the local copy of the file of an entry, to who has a ticket for it.
// The error does not say whether the ticket is wrong, or its lease has ended.
func Signed(ctx context.Context, a *app.App, t string) (send func(w http.ResponseWriter, r *http.Request) error, err error) {
	defer app.Explained(&err, "get the input")
	refused := &app.Error{Kind: app.Refused, Err: errors.New("the address is not right, or the lease of its work has ended"), Hint: "POST /v1/compute/claims returns addresses of inputs"}
	parts, n := strings.Split(t, "."), 1
	id, err := compute.ParseID(parts[0])
	if err == nil && len(parts) > 2 {
		n, err = strconv.Atoi(parts[1])
	}
	if err != nil {
		return nil, refused
	}
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return nil, err
	}
	l, err := handler.Leases.LoadLease(ctx, id)
	if errors.Is(err, eventstore.ErrNotFound) || err == nil && !hmac.Equal([]byte(ticket(id, l.SHA256, n)), []byte(t)) {
		return nil, refused
	}
	if err != nil {
		return nil, err
	}
	return content(ctx, a, id, l.SHA256, n)
}

// Wanted names an input of a lease.
type Wanted struct {
	Token
	Number int `query:"number" minimum:"1" maximum:"100" doc:"Which input, from 1; absent = the first"`
}

// Content returns what sends the local copy of a file that is an input of an entry, for the
// worker that has it.
func Content(ctx context.Context, a *app.App, in *Wanted) (send func(w http.ResponseWriter, r *http.Request) error, err error) {
	defer app.Explained(&err, "get the input")
	id, sum, err := parse(in.Token.Token)
	if err != nil {
		return nil, err
	}
	return content(ctx, a, id, sum, orDefault(in.Number, 1))
}

// content returns what sends the local copy of the n-th input of an entry under a lease.
func content(ctx context.Context, a *app.App, id compute.ID, sum string, n int) (send func(w http.ResponseWriter, r *http.Request) error, err error) {
	handler, attempts, err := open(ctx, a)
	if err != nil {
		return nil, err
	}
	at, _, err := handler.Leased(ctx, id, sum)
	if err != nil {
		return nil, late(ctx, handler, id, err)
	}
	f, err := opened(ctx, attempts, at.State, n)
	if err != nil {
		return nil, err
	}
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", time.Time{}, f)
		return f.Close()
	}, nil
}

// opened opens the local copy of the n-th input of an entry.
func opened(ctx context.Context, attempts *attempt.Attempts, e compute.Entry, n int) (*os.File, error) {
	if step := attempts.StepOf(e); step != nil {
		over, err := step.Begin(ctx)
		if err == nil && over != nil {
			err = unwanted(e.ID, step.Job)
		}
		if err != nil {
			return nil, err
		}
		if n >= 1 && n <= len(step.Files()) {
			return step.Content(ctx, step.Files()[n-1])
		}
	}
	file := attempts.Of(e)
	if file == nil || n != 1 {
		return nil, &app.Error{Kind: app.NotFound, Err: fmt.Errorf("%s has no input %d here", e.ID, n), Hint: "its inputs have URLs of their own"}
	}
	over, err := file.Resume(ctx)
	if err == nil && over != nil {
		err = lapsed(e.ID)
	}
	if err != nil {
		return nil, err
	}
	return file.Content(ctx)
}
