package operation

import (
	"cmp"
	"context"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/operation/internal/sending"
	"github.com/accession-ingest/accession/domain/access"
)

// Upload is a deposit whose file is the body of the request.
type Upload struct {
	About
	Once
	Name string `query:"name" required:"true" maxLength:"255" example:"letter.pdf" doc:"Name of the file"`
	Arriving
}

// Arriving is a file that is the body of a request.
type Arriving struct {
	Repr string `header:"Repr-Digest" maxLength:"400" example:"sha-256=:n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=:" doc:"SHA-256 of the file (RFC 9530), compared with what arrives"`

	body io.Reader
}

// Resolve implements huma.Resolver: the body is read as it arrives.
func (f *Arriving) Resolve(ctx huma.Context) []error {
	f.body = drops.Patient(ctx.BodyReader(), ctx.SetReadDeadline)
	return nil
}

// Collection implements collected.
func (u *Upload) Collection(_ context.Context, c *Call) (string, error) { return u.collection(c) }

func (u *Upload) prepare(op *Operation, c *Call) error { return u.command(op, c, "") }

// receive returns the deposit that the file will be, the SHA-256 that it must have, and who
// takes it; the error is why nothing of it is read.
func (u *Upload) receive(c *Call) (r *drops.Receiver, d app.Deposit, sum string, err error) {
	if d, err = u.deposit(c); err != nil {
		return nil, d, "", err
	}
	if sum, err = sending.ReprDigest(u.Repr); err != nil {
		return nil, d, "", err
	}
	d.Payload, d.Key, d.Digest = u.Name, u.Key, u.Digest
	r = &drops.Receiver{App: c.App, Most: c.App.Open.UploadLimit, Waiting: c.App.Open.WaitingLimit}
	err = r.Check(d)
	return r, d, sum, err
}

// room refuses a deposit for which there is no room; key is the idempotency key under which it
// may have been submitted before.
func (c *Call) room(ctx context.Context, r *drops.Receiver, user, key string) error {
	err := r.Room(ctx, user, key)
	c.limit = r.Limit()
	return err
}

// UploadID names an upload.
type UploadID struct {
	ID string `path:"id" maxLength:"64" doc:"Id of the upload"`
}

// UploadShow shows one upload.
type UploadShow struct {
	UploadID
	Submitter string `query:"submitter" maxLength:"256" doc:"Who has sent it, if that is another user: with the right to see all. Default: you"`
}

func uploads() []*Operation {
	accept := row(Operation{Name: "upload.create", Method: http.MethodPost, Path: "/v1/uploads", Summary: "Deposit a file, which is the body of the request",
		Need: access.Deposit, On: OnCollection, Write: true, File: true, Later: true}, func(ctx context.Context, c *Call, in *Upload) (s drops.Shown, err error) {
		r, d, sum, err := in.receive(c)
		if err != nil {
			return s, err
		}
		if s, found, err := r.Accepted(ctx, d); found || err != nil {
			return s, err
		}
		if err := c.room(ctx, r, d.Submitter, ""); err != nil {
			return s, err
		}
		return r.Accept(ctx, d, in.body, sum)
	})
	atOnce := row(Operation{Name: "upload.synchronous", Method: http.MethodPost, Path: "/v1/uploads/synchronous", Summary: "Deposit a file that waits in no queue: it runs at once, or is refused",
		Need: access.Deposit, On: OnCollection, Write: true, File: true, Later: true}, func(ctx context.Context, c *Call, in *Upload) (s app.Submitted, err error) {
		r, d, sum, err := in.receive(c)
		if err == nil {
			err = c.room(ctx, r, d.Submitter, d.Key)
		}
		if err != nil {
			return s, err
		}
		at, done, err := r.Spool(ctx, d.Payload, in.body, sum)
		if err != nil {
			return s, err
		}
		defer func() { _ = done() }() // what is left is removed later
		d.Payload, d.Synchronous = at, true
		return c.App.Submit(ctx, d)
	})
	return []*Operation{accept, atOnce,
		get("upload.show", "/v1/uploads/{id}", "Show what became of a file that you have deposited", OnSelf, false, func(ctx context.Context, c *Call, in *UploadShow) (drops.Shown, error) {
			s, err := drops.Show(ctx, c.App, in.ID, cmp.Or(in.Submitter, c.Caller.Name))
			if err == nil && s.Submitter != c.Caller.Name && !c.Caller.May(access.See, "") {
				return drops.Shown{}, drops.Missing(in.ID)
			}
			return s, err
		}),
	}
}
