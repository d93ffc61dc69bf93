package operation

import (
	"context"
	"net/http"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/domain/access"
)

// Table returns every operation, each once.
func Table() []*Operation {
	var all []*Operation
	for _, noun := range [][]*Operation{self(), sessions(), submissions(), uploads(), batches(), jobs(), files(), objectOperations(), withdrawals(), eventStreams(), collections(), queueOperations(), depositQueueOperations(), processors(), queryOperations(), computeOperations(), dropFolder(), intakes(), timeouts(), profileOperations(), directoryOperations(), datasetOperations(), slotOperations(), statusOperations(), poison(), reports(), bulkActions(), users()} {
		all = append(all, noun...)
	}
	return all
}

// Named returns the row of a name.
func Named(name string) *Operation {
	for _, op := range Table() {
		if op.Name == name {
			return op
		}
	}
	panic("there is no operation " + name) // a fault of the caller, which a test finds
}

// Carry carries out an operation in this process, for a user of the machine, who has every
// right, and audits it. in is a pointer to the input that the table names; unnoted learns why
// the audit has no entry of it.
func Carry[O any](ctx context.Context, a *app.App, name string, in any, unnoted func(error)) (out O, err error) {
	op, c := Named(name), ofMachine(a)
	var e Ending
	if e.Err = op.prepare(c, in); e.Err == nil {
		e.Why, e.DryRun = reasonOf(in), c.App.DryRun
		e.On, _ = op.subject(ctx, c, in) // what is no id is refused by the use case
		var answer any
		if answer, e.Err = op.carry(ctx, c, in); e.Err == nil {
			out = answer.(O)
			e.choose(out)
		}
	}
	if err := Note(ctx, a, op, e); err != nil {
		unnoted(err)
	}
	return out, e.Err
}

// ofMachine returns the call of a command of the machine, which may do everything.
func ofMachine(a *app.App) *Call {
	by := people.Machine(a)
	return &Call{App: &app.App{Open: a.Open, Actor: a.Actor}, By: by, machine: true,
		Caller: access.Caller{Name: by.Name, Rights: []access.Right{{Role: access.Admin, Scope: access.Everywhere}}}}
}

// get returns the row of an operation that reads.
func get[I, O any](name, path, summary string, on On, past bool, do func(ctx context.Context, c *Call, in *I) (O, error)) *Operation {
	op := Operation{Name: name, Method: http.MethodGet, Path: path, Summary: summary, On: on, Past: past}
	if on == OnThing || on == OnObject || on == OnInstallation || on == OnCollection {
		op.Need = access.See
	}
	return row(op, do)
}

// verb is a command of package app about one thing.
type verb[ID ~string] struct {
	name, summary string
	do            func(ctx context.Context, a *app.App, id ID, why string) (app.Changed, error)
}

// method returns a command that is a method of [app.App], with the context first.
func method[ID ~string](do func(*app.App, context.Context, ID, string) (app.Changed, error)) func(context.Context, *app.App, ID, string) (app.Changed, error) {
	return func(ctx context.Context, a *app.App, id ID, why string) (app.Changed, error) {
		return do(a, ctx, id, why)
	}
}

// change returns the row of an operator's command about one thing, such as POST
// /v1/jobs/{id}/hold.
func change[I any, ID ~string](noun, path string, v verb[ID], id func(in *I) (ID, string)) *Operation {
	return row(Operation{Name: noun + "." + v.name, Method: http.MethodPost, Path: path + "/{id}/" + v.name, Summary: v.summary,
		Need: access.Act, On: OnThing, Write: true},
		func(ctx context.Context, c *Call, in *I) (app.Changed, error) {
			thing, why := id(in)
			return v.do(ctx, c.App, thing, why)
		})
}
