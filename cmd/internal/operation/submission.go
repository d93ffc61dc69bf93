package operation

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
)

// Submission submits a payload that a server on the Web has.
type Submission struct {
	Once
	Body SubmissionBody
}

// SubmissionBody describes a deposit.
type SubmissionBody struct {
	About
	URL string `json:"url" maxLength:"2000" example:"https://example.org/deposit.checkm" doc:"Where the payload is: http, https, or s3, sftp or file as far as the profile opens it"`
	// Synchronous says that the deposit waits in no queue.
	Synchronous bool `json:"synchronous,omitempty" doc:"Wait in no queue: run at once, or be refused"`
}

// About is what a depositor says of a deposit.
type About struct {
	Profile    string   `json:"profile" query:"profile" required:"true" maxLength:"200" doc:"Profile of the collection"`
	Type       string   `json:"type,omitempty" query:"type" maxLength:"60" doc:"Type of the payload, such as file or object-manifest; guessed when it is absent"`
	Mode       string   `json:"mode,omitempty" query:"mode" enum:"add,update" doc:"add (default) or update"`
	Digest     string   `json:"digest,omitempty" query:"digest" maxLength:"200" example:"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" doc:"Digest of the payload: ALGORITHM:HEX"`
	Identifier string   `json:"identifier,omitempty" query:"identifier" maxLength:"500" doc:"Identifier of the one object"`
	LocalIDs   []string `json:"local_ids,omitempty" query:"local_ids" maxItems:"100" doc:"Your own names of the one object"`
	Title      string   `json:"title,omitempty" query:"title" maxLength:"2000" doc:"Title"`
	Creator    string   `json:"creator,omitempty" query:"creator" maxLength:"2000" doc:"Creator"`
	Date       string   `json:"date,omitempty" query:"date" maxLength:"200" doc:"Date, as you write it"`
	Submitter  string   `json:"submitter,omitempty" query:"submitter" maxLength:"256" doc:"Who deposits; operators may deposit for another user. Default: you"`
}

// Collection implements collected.
func (s *Submission) Collection(_ context.Context, c *Call) (string, error) {
	return s.Body.collection(c)
}

func (s *Submission) prepare(op *Operation, c *Call) error { return s.command(op, c, "") }

// collection returns the collection of the profile. A profile that does not exist is that
// of no collection for those who may not deposit everywhere.
func (a *About) collection(c *Call) (string, error) {
	name, err := c.sight().CollectionOf(a.Profile)
	if known, ok := errors.AsType[*app.Error](err); ok && known.Kind == app.NotFound && !c.Caller.May(access.Deposit, "") {
		return "", nil
	}
	return name, err
}

// deposit returns the deposit, in the name of the caller or, for an operator of its
// collection, of another user.
func (a *About) deposit(c *Call) (d app.Deposit, err error) {
	d = app.Deposit{Profile: a.Profile, Submitter: c.Caller.Name, Type: domain.SubmissionType(a.Type), Mode: a.Mode, Digest: a.Digest,
		Primary: a.Identifier, LocalIDs: a.LocalIDs, Title: a.Title, Creator: a.Creator, Date: a.Date}
	if a.Submitter == "" || a.Submitter == d.Submitter {
		return d, nil
	}
	collection, err := a.collection(c)
	if err == nil && !c.Caller.May(access.Act, collection) {
		err = &app.Error{Kind: app.Forbidden, What: "deposit for " + a.Submitter, Err: errors.New("you have no right to deposit for another user"),
			Hint: "leave submitter out; operators of the collection may name another user"}
	}
	d.Submitter = a.Submitter
	return d, err
}

// Allowed returns the deposit, or the error of a caller who may not make it: in the
// collection of its profile, or in the name of another user.
func (a *About) Allowed(c *Call) (d app.Deposit, err error) {
	collection, err := a.collection(c)
	if err != nil {
		return d, err
	}
	if !c.Caller.May(access.Deposit, collection) {
		return d, forbidden(&Operation{Name: "deposit", Need: access.Deposit}, "in the collection "+collection)
	}
	return a.deposit(c)
}

func submissions() []*Operation {
	return []*Operation{
		row(Operation{Name: "submission.create", Method: http.MethodPost, Path: "/v1/submissions", Summary: "Deposit what a URL names",
			Need: access.Deposit, On: OnCollection, Write: true, Later: true}, func(ctx context.Context, c *Call, in *Submission) (app.Submitted, error) {
			d, err := in.Body.deposit(c)
			if err != nil {
				return app.Submitted{}, err
			}
			d.Payload, d.Synchronous, d.Key = in.Body.URL, in.Body.Synchronous, in.Key
			if !strings.Contains(d.Payload, "://") {
				return app.Submitted{}, invalid("url=%q is no URL; POST /v1/uploads takes files", d.Payload)
			}
			r := &drops.Receiver{App: c.App, Waiting: c.App.Open.WaitingLimit}
			if err := c.room(ctx, r, d.Submitter, d.Key); err != nil {
				return app.Submitted{}, err
			}
			return c.App.Submit(ctx, d)
		}),
	}
}
