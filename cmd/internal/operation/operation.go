// Package operation is the table of operations: what people and programs may request over
// HTTP, each a use case of package app with its path, its input and output, and the right
// that it needs. Routes, their OpenAPI description, docs/api.md and the test of rights are
// made from the table.
package operation

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/objects"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
)

// None is no parameters.
type None struct{}

// On is what the right to an operation is needed on.
type On string

// What a right is needed on.
const (
	OnSelf         On = "self"         // nothing: every user may
	OnSeen         On = "seen"         // what the caller may see: a list is limited to it
	OnThing        On = "thing"        // a batch, job or file
	OnObject       On = "object"       // a stored object
	OnCollection   On = "collection"   // a collection that the input names
	OnInstallation On = "installation" // what belongs to no collection
	OnNamed        On = "named"        // the batches and datasets that the input names, without any what belongs to no collection
	OnSome         On = "some"         // any collection: the operation is limited to those where the caller has it
)

// Operation is a row of the table.
type Operation struct {
	Name    string // noun.verb, as on the command line
	Method  string
	Path    string
	Summary string
	// Need is what the caller needs on On; "" where On is OnSelf or OnSeen.
	Need access.Need
	On   On
	// Write says that it changes something: it takes Idempotency-Key, unless it is the same
	// however often it is requested, and with a thing If-Match.
	Write bool
	// Later says that what was requested is done later: the answer is 202.
	Later bool
	// Awaits says that it reads what may not be there yet, or not any more, and then answers with 409.
	Awaits bool
	// Audits says that the use case itself audits what it changes.
	Audits bool
	// Often says that it is requested again and again, so that only refusals are audited.
	Often bool
	// File says that the body of the request is a file.
	File bool
	// Sends are the media types of an answer that is not Output as JSON, nil = it is.
	Sends []string
	// Past says that it takes ?at=.
	Past bool
	// Input and Output are the types of the parameters and of the answer.
	Input, Output reflect.Type

	register func(api huma.API, o huma.Operation, call Server)
	carry    func(ctx context.Context, c *Call, in any) (any, error) // nil = it is not JSON
}

// Call is one request of an operation.
type Call struct {
	App    *app.App // with the caller as its actor
	Caller access.Caller
	By     people.By // the caller as it is audited

	machine bool  // the caller is a user of the machine, who has every right
	version int64 // of the thing, as the tables have it, 0 = not known
	limit   access.Limit
}

// Server is the server of requests, which knows their callers. Begin returns the call of a
// request. Ended learns what became of it, and returns the error to answer with, nil = none.
type Server struct {
	Begin func(ctx context.Context, op *Operation) *Call
	Ended func(ctx context.Context, op *Operation, e Ending) error
}

// Register adds the operation to an API.
func (op *Operation) Register(api huma.API, o huma.Operation, call Server) { op.register(api, o, call) }

// thing is an input that names a batch, job or file, or a collection.
type thing interface {
	Thing() (domain.Aggregate, error)
}

// stored is an input that names a stored object.
type stored interface {
	Object() string
}

// collected is an input that names a collection, or something that belongs to one.
type collected interface {
	Collection(ctx context.Context, c *Call) (string, error)
}

// naming is an input that may name batches and datasets.
type naming interface {
	permit(ctx context.Context, op *Operation, c *Call) error
}

// Answer is what an operation answers with.
type Answer[O any] struct {
	// ETag is the version of the thing that is shown or was changed, "" = it has none.
	ETag string `header:"ETag" doc:"Version of the thing, for If-Match"`
	// Location is where to look what becomes of it.
	Location string `header:"Location" doc:"Where to look what becomes of it"`
	// Applied says which preference was followed.
	Applied string `header:"Preference-Applied" doc:"Which preference was followed"`
	// Policy and Limit are those of what the caller may only ask for so much of, "" = it is not.
	Policy string `header:"RateLimit-Policy" doc:"How much of this you may ask for: q, within w seconds"`
	Limit  string `header:"RateLimit" doc:"How much more of this you may ask for now: r"`
	Body   O
}

// row returns a row whose operation do carries out, once the caller has the right to it.
func row[I, O any](op Operation, do func(ctx context.Context, c *Call, in *I) (O, error)) *Operation {
	op.Input, op.Output = reflect.TypeFor[I](), reflect.TypeFor[O]()
	self := &op
	status := http.StatusOK
	if op.Later {
		status = http.StatusAccepted
	}
	op.carry = func(ctx context.Context, c *Call, in any) (any, error) { return do(ctx, c, in.(*I)) }
	op.register = func(api huma.API, o huma.Operation, call Server) {
		o.DefaultStatus = status
		huma.Register(api, o, func(ctx context.Context, in *I) (*Answer[O], error) {
			c := call.Begin(ctx, self)
			e := self.allow(ctx, c, in)
			var out O
			if e.Err == nil {
				out, e.Err = do(ctx, c, in)
				e.choose(out)
			}
			if err := call.Ended(ctx, self, e); err != nil {
				return nil, err
			}
			a := &Answer[O]{Body: out}
			a.describe(ctx, self, c, in)
			return a, nil
		})
	}
	return self
}

// allow refuses an input with what is no text and what the caller has no right to, and
// returns what it is about. What the caller may not even see is not there for it.
func (op *Operation) allow(ctx context.Context, c *Call, in any) (e Ending) {
	if e.Err = op.prepare(c, in); e.Err != nil {
		return e
	}
	e.Why, e.DryRun = reasonOf(in), c.App.DryRun
	if e.On, e.Err = op.subject(ctx, c, in); e.Err == nil {
		e.Err = op.permit(ctx, c, in)
	}
	return e
}

// permit refuses what the caller has no right to.
func (op *Operation) permit(ctx context.Context, c *Call, in any) error {
	switch op.On {
	case OnThing:
		a, err := in.(thing).Thing()
		if err != nil {
			return err
		}
		return c.allowThing(ctx, op, a)
	case OnCollection:
		name, err := in.(collected).Collection(ctx, c)
		if err == nil && !c.Caller.May(op.Need, name) {
			err = forbidden(op, "in the collection "+name)
		}
		return err
	case OnNamed:
		return in.(naming).permit(ctx, op, c)
	case OnSome:
		if c.Caller.FilterFor(op.Need).Empty() {
			return forbidden(op, "in any collection")
		}
	case OnInstallation:
		if !c.Caller.May(op.Need, "") {
			return forbidden(op, "in all collections")
		}
	case OnObject:
		if op.Need != access.See { // else the use case leaves out what the caller may not see
			return c.allowObject(ctx, op, in.(stored).Object())
		}
	case OnSelf, OnSeen:
	}
	return nil
}

// allowObject refuses an operation on a stored object. One that the caller may not see is not
// there.
func (c *Call) allowObject(ctx context.Context, op *Operation, id string) error {
	sees := c.Caller.Filter()
	name, err := objects.Collection(ctx, c.App, objects.Of{Object: id, Sees: &sees})
	if err == nil && !c.Caller.May(op.Need, name) {
		err = forbidden(op, "in the collection "+name)
	}
	return err
}

// prepare refuses an input with what is no text, and tells the call what the input says of it.
func (op *Operation) prepare(c *Call, in any) error {
	if err := checkTexts(in); err != nil {
		return err
	}
	if p, ok := in.(prepared); ok {
		return p.prepare(op, c)
	}
	return nil
}

// allowThing refuses an operation on a batch, job or file.
func (c *Call) allowThing(ctx context.Context, op *Operation, a domain.Aggregate) error {
	owner, err := c.sight().Sees(ctx, a)
	if err != nil {
		return err
	}
	if op.Need != access.See && !c.Caller.May(op.Need, owner.Collection) {
		return forbidden(op, "in the collection "+owner.Collection)
	}
	c.version = owner.Version
	return nil
}
