package operation

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
)

// Ending is what became of a request.
type Ending struct {
	On     string // what it is about, as far as it is known
	Why    string // the reason that was given
	DryRun bool
	None   bool  // nothing was changed, because there was nothing to change
	Err    error // nil = it was done
}

// chosen is an output of a request that does not name what it changes.
type chosen interface {
	// Chosen returns what was changed, "" = nothing.
	Chosen() string
}

// choose learns from an output what a request that was done has changed.
func (e *Ending) choose(out any) {
	if c, ok := out.(chosen); ok && e.Err == nil {
		on := c.Chosen()
		if e.None = on == ""; !e.None {
			e.On = on
		}
	}
}

// Noted returns the outcome of a request as it is audited, and whether it is: what was
// changed, every refusal, and every change that failed. kind is that of its error, "" = it has
// none. A use case that audits its changes itself does so when it has done one. Of what is
// requested often only refusals are audited.
func (op *Operation) Noted(e Ending, kind app.Kind) (outcome string, noted bool) {
	switch kind {
	case "":
		return people.Done, op.Write && !op.Audits && !op.Often && !e.DryRun && !e.None
	case app.Unavailable, app.Lost, app.Interrupted, app.Failed:
		return people.Failed, op.Write && !op.Often && !e.DryRun
	}
	return people.Refused, true
}

// about is an input that names what it is about, which belongs to no collection.
type about interface{ Subject() string }

// Subject implements about.
func (n *UserName) Subject() string { return "user/" + n.Name }

// Subject implements about.
func (n *NewUser) Subject() string { return "user/" + n.Body.Name }

// Subject implements about.
func (n *NewKey) Subject() string { return "user/" + n.Body.User }

// Subject implements about. What is longer than a prefix may be a whole key.
func (n *KeyPrefix) Subject() string {
	if len(n.Prefix) > 8 {
		return "installation"
	}
	return "key/" + n.Prefix
}

// Subject implements about.
func (n *QueueName) Subject() string { return "queue/" + n.Name }

// Subject implements about.
func (n *QueueLimit) Subject() string { return "queue/" + n.Name + "/" + n.Body.User }

// Subject implements about.
func (n *QueueUnlimit) Subject() string { return "queue/" + n.Name + "/" + n.Body.User }

// Subject implements about.
func (n *ProcessorName) Subject() string { return "processor/" + n.Name + "/" + n.Processor }

// Subject implements about.
func (p *ProfileName) Subject() string { return "profile/" + p.Name }

// Subject implements about.
func (q *QueryID) Subject() string { return "query/" + q.ID }

// Subject implements about.
func (n *UploadID) Subject() string { return "upload/" + n.ID }

// Subject implements about.
func (n *BulkID) Subject() string { return "bulk/" + n.ID }

// subject returns what an input is about, "" = nothing of the installation.
func (op *Operation) subject(ctx context.Context, c *Call, in any) (string, error) {
	switch op.On {
	case OnSelf, OnSeen:
		if n, ok := in.(about); ok {
			return n.Subject(), nil
		}
		return "", nil
	case OnThing:
		a, err := in.(thing).Thing()
		if err != nil {
			return "", err
		}
		return a.String(), nil
	case OnObject:
		return "object/" + in.(stored).Object(), nil
	case OnCollection:
		name, err := in.(collected).Collection(ctx, c)
		if err != nil {
			return "", err
		}
		return "collection/" + name, nil
	case OnSome, OnNamed, OnInstallation:
		if n, ok := in.(about); ok {
			return n.Subject(), nil
		}
		return "installation", nil
	}
	panic("operation " + op.Name + " needs a right on nothing") // a fault of the table
}

// reasonOf returns the reason that an input gives in its body, "" = none.
func reasonOf(in any) string {
	body := reflect.ValueOf(in).Elem().FieldByName("Body")
	if body.Kind() == reflect.Pointer {
		body = body.Elem()
	}
	if body.Kind() != reflect.Struct {
		return ""
	}
	reason := body.FieldByName("Reason")
	if reason.Kind() != reflect.String {
		return ""
	}
	return strings.TrimSpace(reason.String())
}

// noteTime is how long a command of the machine waits for its entry in the audit.
const noteTime = 5 * time.Second

// Note audits what became of a command of a user of the machine, and returns why it could not.
// What was done stays done: commands that need only ZooKeeper work while PostgreSQL is away.
func Note(ctx context.Context, a *app.App, op *Operation, e Ending) error {
	kind := app.Kind("")
	if e.Err != nil {
		kind = app.Failed
		if known, ok := errors.AsType[*app.Error](e.Err); ok {
			kind = known.Kind
		}
	}
	outcome, noted := op.Noted(e, kind)
	if !noted || !op.Write {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
	defer cancel()
	p, err := people.Of(ctx, a)
	if err == nil {
		err = p.Note(ctx, people.Machine(a), op.Name, e.On, outcome, string(kind), e.Why)
	}
	return err
}
